import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { runHere, serveHere } from "../../../test/support/command-rig.ts";

function makeHome(): string {
  const home = mkdtempSync(join(tmpdir(), "holdfast-cli-"));
  onTestFinished(() => rmSync(home, { recursive: true, force: true }));
  return home;
}

test("a link leads to the page of the running host and signs a browser in once", async () => {
  const { settings, close } = await serveHere(makeHome());
  onTestFinished(close);
  const { code, said } = await runHere(["link"], settings);
  expect(code).toBe(0);
  const url = new URL(said.trim());
  expect(url.origin).toBe(settings.HOLDFAST_URL);
  const body = JSON.stringify({ code: url.hash.replace("#signin=", "") });
  const headers = { "content-type": "application/json" };
  const signIn = () => fetch(`${url.origin}/api/login`, { method: "POST", body, headers });
  expect((await signIn()).status).toBe(204);
  expect((await signIn()).status).toBe(401);
});

test("without a running host the command says how to start one", async () => {
  const end = await runHere(["link"], { HOLDFAST_HOME: makeHome() });
  expect(end).toMatchObject({ code: 1, said: "" });
  expect(end.told).toContain("holdfast serve");
});
