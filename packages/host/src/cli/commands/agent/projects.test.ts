import { mkdirSync, mkdtempSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { runHere, serveHere } from "../../../../test/support/command-rig.ts";

test("projects are added, edited, listed and deleted, and a folder that may not be used is refused", async () => {
  const parent = realpathSync(mkdtempSync(join(tmpdir(), "holdfast-cli-")));
  onTestFinished(() => rmSync(parent, { recursive: true, force: true }));
  const folder = join(parent, "tides");
  mkdirSync(folder);
  const { settings, close } = await serveHere(join(parent, "home"));
  onTestFinished(close);
  const projects = (...args: string[]) => runHere(["projects", ...args], settings);
  expect((await projects()).told).toContain("There are none");
  expect(await projects("add")).toMatchObject({ code: 2 });
  expect(await projects("add", "Tides", "--text", "All times are UTC.")).toMatchObject({ code: 0 });
  expect(await projects("edit", "tides", "--folder", folder)).toMatchObject({ code: 1 });
  await runHere(["workspaces", "allow", folder], settings);
  expect(await projects("edit", "tides", "--folder", folder)).toMatchObject({ code: 0 });
  expect(await projects("edit", "tides", "--persona", "nobody")).toMatchObject({ code: 2 });
  expect(await projects("edit", "tides", "--persona", "default")).toMatchObject({ code: 0 });
  expect((await projects("list")).said).toBe(`Tides\t${folder}\tAll times are UTC.\n`);
  expect((await projects("show", "Tides")).said).toBe("All times are UTC.\n");
  expect(await projects("delete", "Tides")).toMatchObject({ code: 0 });
  expect(await projects("delete", "Tides")).toMatchObject({ code: 2 });
});
