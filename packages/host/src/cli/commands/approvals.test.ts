import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { runHere, serveHere } from "../../../test/support/command-rig.ts";

test("open approvals are listed with their session, and a yes is listed and revoked", async () => {
  const home = mkdtempSync(join(tmpdir(), "holdfast-cli-"));
  onTestFinished(() => rmSync(home, { recursive: true, force: true }));
  const { settings, close } = await serveHere(home);
  onTestFinished(close);
  const approvals = (...args: string[]) => runHere(["approvals", ...args], settings);
  expect(await approvals()).toMatchObject({ code: 0, said: "" });
  expect(await approvals("rules")).toMatchObject({ code: 0, said: "" });
  await runHere(["run", '{tool:terminal {"command":["echo","kelp"]}}'], settings);
  const { said } = await approvals();
  expect(said).toMatch(/^apr_\w+  terminal  holdfast chat --session ses_\w+\n {2}Runs in /);
  // A command is one line, as somebody would type it.
  expect(said).toContain("\n    echo kelp\n");
  const [id = ""] = said.split(" ");
  expect((await approvals("list", "--json")).said).toContain(`"approvalId":"${id}"`);
  expect((await approvals("revoke", id)).code).toBe(1);
  expect((await approvals("revoke", "all")).code).toBe(2);
  await runHere(["run", "--mode", "plan", '{tool:submit_plan {"plan":"Look first."}}'], settings);
  expect((await approvals()).said).toMatch(/ submit_plan .*\n {2}Look first\.\n/);
});
