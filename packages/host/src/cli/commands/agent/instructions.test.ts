import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { runHere, serveHere } from "../../../../test/support/command-rig.ts";

test("instructions are set, shown with their history, and deleted", async () => {
  const home = mkdtempSync(join(tmpdir(), "holdfast-cli-"));
  onTestFinished(() => rmSync(home, { recursive: true, force: true }));
  const { settings, close } = await serveHere(home);
  onTestFinished(close);
  const instructions = (...args: string[]) => runHere(["instructions", ...args], settings);
  expect((await instructions()).told).toContain("No instructions yet");
  expect(await instructions("set")).toMatchObject({ code: 2 });
  expect(await instructions("set", "Be", "brief.")).toMatchObject({ code: 0 });
  expect(await instructions("set", "Be thorough.")).toMatchObject({ code: 0 });
  expect((await instructions("show")).said).toBe("Be thorough.\n");
  expect((await instructions("history")).said).toMatch(/\tBe brief\.\n.*\tBe thorough\.\n$/u);
  expect(await instructions("delete")).toMatchObject({ code: 0 });
  expect((await instructions("history")).said).toBe("");
  expect(await instructions("adore")).toMatchObject({ code: 2 });
});
