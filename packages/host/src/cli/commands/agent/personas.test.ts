import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { builtInPersonaText } from "../../../agent/guidance.ts";
import { expect, onTestFinished, test } from "vitest";
import { runHere, serveHere } from "../../../../test/support/command-rig.ts";

test("personas are added, listed, edited, made the default and deleted", async () => {
  const home = mkdtempSync(join(tmpdir(), "holdfast-cli-"));
  onTestFinished(() => rmSync(home, { recursive: true, force: true }));
  const { settings, close } = await serveHere(home);
  onTestFinished(close);
  const personas = (...args: string[]) => runHere(["personas", ...args], settings);
  expect(await personas("add", "Editor")).toMatchObject({ code: 2 });
  expect(await personas("add", "Editor", "--text", "You edit.")).toMatchObject({ code: 0 });
  expect(await personas("edit", "editor", "--for-model", "rehearsal")).toMatchObject({ code: 0 });
  expect(await personas("default", "Editor")).toMatchObject({ code: 0 });
  expect((await personas()).said).toBe(
    `Default\t\t${builtInPersonaText}\nEditor\tdefault, rehearsal\tYou edit.\n`,
  );
  expect((await personas("show", "edi")).said).toBe("You edit.\n");
  expect(await personas("edit", "Default", "--text", "You are a pilot.")).toMatchObject({
    code: 0,
  });
  expect(readFileSync(join(home, "persona.md"), "utf8")).toBe("You are a pilot.\n");
  expect(await personas("delete", "Editor")).toMatchObject({ code: 0 });
  expect(await personas("delete", "Editor")).toMatchObject({ code: 2 });
  expect(await personas("delete", "Default")).toMatchObject({ code: 1 });
});
