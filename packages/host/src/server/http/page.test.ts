import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { createReferenceStore } from "@holdfast/testing/reference-store/store";
import { createAuthenticator } from "../auth/authenticator.ts";
import { createHttpApp } from "./http-app.ts";
import { loadPage } from "./page.ts";

function createBuild(files: Readonly<Record<string, string>>): string {
  const folder = mkdtempSync(join(tmpdir(), "holdfast-page-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  mkdirSync(join(folder, "dist/assets"), { recursive: true });
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text);
  return folder;
}

function serveBuild(folder: string) {
  const loaded = loadPage(join(folder, "dist"));
  if (!loaded.ok) throw new Error(loaded.failure.message);
  return createHttpApp({
    version: "1",
    page: loaded.value,
    authenticator: createAuthenticator({ token: "t", store: createReferenceStore() }),
    api: [],
    health: async () => {
      throw new Error("Nobody asks.");
    },
    host: "127.0.0.1",
    origin: undefined,
    basePath: "",
    report: () => undefined,
  });
}

test("no path leads out of the page's folder", async () => {
  const app = serveBuild(
    createBuild({ "dist/index.html": "page", "dist/assets/a.css": "css", secret: "secret" }),
  );
  expect(await (await app.request("/assets/a.css")).text()).toBe("css");
  const ways = ["/../secret", "/assets/../../secret", "/%2e%2e/secret", "/..%2fsecret", "/assets"];
  for (const way of [...ways, "/assets/..%5c..%5csecret", "//secret", "/assets/a.css%00"]) {
    expect([way, (await app.request(way)).status]).toEqual([way, 404]);
  }
});

test("a running host keeps its page when another build replaces the files", async () => {
  const folder = createBuild({
    "dist/index.html": '<script src="./assets/index-1.js"></script>',
    "dist/assets/index-1.js": "first",
    "dist/assets/diagram-1.js": "drawn before",
    "dist/assets/formula-1.js": "never asked for",
  });
  const app = serveBuild(folder);
  expect(await (await app.request("/assets/diagram-1.js")).text()).toBe("drawn before");

  rmSync(join(folder, "dist"), { recursive: true });

  expect(await (await app.request("/")).text()).toContain("index-1.js");
  expect(await (await app.request("/assets/index-1.js")).text()).toBe("first");
  expect(await (await app.request("/assets/diagram-1.js")).text()).toBe("drawn before");
  const gone = await app.request("/assets/formula-1.js");
  expect([gone.status, await gone.json()]).toMatchObject([404, { code: "not_found" }]);
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

test("a browser gets the smallest encoding that it accepts, and others the file itself", async () => {
  const app = serveBuild(
    createBuild({
      "dist/index.html": "page",
      "dist/assets/a.js": "plain",
      "dist/assets/a.js.br": "as brotli",
      "dist/assets/a.js.gz": "as gzip",
      "dist/assets/b.png": "picture",
    }),
  );
  const get = async (path: string, accepted?: string) => {
    const headers: Record<string, string> =
      accepted === undefined ? {} : { "accept-encoding": accepted };
    const response = await app.request(path, { headers });
    const { headers: sent } = response;
    return [await response.text(), sent.get("content-encoding"), sent.get("vary")];
  };

  expect(await get("/assets/a.js", "gzip, deflate, br, zstd")).toEqual([
    "as brotli",
    "br",
    "accept-encoding",
  ]);
  expect(await get("/assets/a.js", "gzip, br;q=0")).toEqual(["as gzip", "gzip", "accept-encoding"]);
  expect(await get("/assets/a.js", "zstd")).toEqual(["plain", null, "accept-encoding"]);
  expect(await get("/assets/a.js")).toEqual(["plain", null, "accept-encoding"]);
  expect(await get("/assets/b.png", "br")).toEqual(["picture", null, null]);
  expect((await app.request("/assets/a.js.br")).status).toBe(404);
});

test("a file whose compressed copy is gone is sent as it is", async () => {
  const folder = createBuild({
    "dist/index.html": "page",
    "dist/assets/a.js": "plain",
    "dist/assets/a.js.br": "as brotli",
  });
  const app = serveBuild(folder);
  rmSync(join(folder, "dist/assets/a.js.br"));

  const response = await app.request("/assets/a.js", { headers: { "accept-encoding": "br" } });

  expect(await response.text()).toBe("plain");
  expect(response.headers.get("content-encoding")).toBeNull();
});
