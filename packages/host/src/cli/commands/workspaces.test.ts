import { mkdirSync, mkdtempSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { runHere, serveHere } from "../../../test/support/command-rig.ts";

test("a folder can be allowed, listed and forgotten, and one that cannot be says why", async () => {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), "holdfast-cli-")));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const home = join(folder, "home");
  const project = join(folder, "tides");
  mkdirSync(project);
  const { settings, close } = await serveHere(home);
  onTestFinished(close);
  const workspaces = (...args: string[]) => runHere(["workspaces", ...args], settings);
  expect((await workspaces()).said).toContain("None. Sessions work in folders of their own.");
  expect(await workspaces("allow", project)).toMatchObject({
    code: 0,
    said: `Sessions may work in ${project}.\n`,
  });
  expect((await workspaces("list")).said).toBe(`${project}\tallowed\n`);
  expect(await workspaces("allow", "/")).toMatchObject({
    code: 1,
    told: expect.stringContaining("contains the home of Holdfast") as string,
  });
  expect(await workspaces("forget", project)).toMatchObject({ code: 0 });
  expect(await workspaces("forget", project)).toMatchObject({ code: 1 });
  expect(await workspaces("adore", project)).toMatchObject({ code: 2 });
});
