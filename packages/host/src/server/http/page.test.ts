import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { createAuthenticator } from "../auth/authenticator.ts";
import { createHttpApp } from "./http-app.ts";
import { loadPage } from "./page.ts";

test("no path leads out of the page's folder", async () => {
  const folder = mkdtempSync(join(tmpdir(), "holdfast-page-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  mkdirSync(join(folder, "dist/assets"), { recursive: true });
  writeFileSync(join(folder, "dist/index.html"), "page");
  writeFileSync(join(folder, "dist/assets/a.css"), "css");
  writeFileSync(join(folder, "secret"), "secret");
  const loaded = loadPage(join(folder, "dist"));
  if (!loaded.ok) throw new Error(loaded.failure.message);

  const app = createHttpApp({
    version: "1",
    page: loaded.value,
    authenticator: createAuthenticator("t"),
    api: [],
    health: async () => {
      throw new Error("Nobody asks.");
    },
    host: "127.0.0.1",
    origin: undefined,
    basePath: "",
    report: () => undefined,
  });
  expect(await (await app.request("/assets/a.css")).text()).toBe("css");
  const ways = ["/../secret", "/assets/../../secret", "/%2e%2e/secret", "/..%2fsecret", "/assets"];
  for (const way of [...ways, "/assets/..%5c..%5csecret", "//secret", "/assets/a.css%00"]) {
    expect([way, (await app.request(way)).status]).toEqual([way, 404]);
  }
});

test("a missing page build is reported with what to do", () => {
  expect(loadPage(join(tmpdir(), "holdfast-no-such-folder"))).toEqual({
    ok: false,
    failure: {
      code: "page.missing",
      message: 'The page is not built: run "npm start", which builds it first.',
    },
  });
});
