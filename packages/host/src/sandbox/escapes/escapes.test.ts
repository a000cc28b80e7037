import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { expect, onTestFinished, test } from "vitest";

import { openTestConfinement } from "../../../test/support/open-confinement.ts";
import { allowedEnvironment, runCommand } from "../run-command.ts";
import { escapeCases } from "./escape-cases.ts";
import { tryEscapes } from "./try-escapes.ts";

function makeFolder(): string {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), "holdfast-escapes-")));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

test("[safety] none of twenty ways leads out of the sandbox", async () => {
  const personHome = makeFolder();
  const home = join(personHome, ".holdfast");
  const workspace = join(home, "workspaces", "own");
  mkdirSync(workspace, { recursive: true });
  mkdirSync(join(personHome, ".ssh"));
  writeFileSync(join(personHome, ".ssh", "id_ed25519"), "PRIVATE KEY");
  const environment = { ...process.env, HOME: personHome };
  const limits = { processes: 400, memoryMegabytes: 700 };
  const confinement = openTestConfinement({ home, mode: "required", environment, ...limits });
  expect(await confinement.state()).toMatchObject({ reason: null });
  const results = await tryEscapes({
    home,
    personHome,
    workspace,
    path: process.env["PATH"] ?? "",
    beyond: { processes: 700, memoryMegabytes: 1_024, fileMegabytes: 400 },
    async run(argv) {
      const plain = { argv, folder: workspace, environment: allowedEnvironment(environment) };
      const confined = await confinement.confine(plain, { writable: [workspace], network: "none" });
      if (!confined.ok) throw new Error(confined.message);
      const { signal } = new AbortController();
      return (await runCommand({ ...confined.command, timeLimitMs: 60_000, signal })).output;
    },
  });
  expect(results.filter(({ outcome }) => outcome !== "held")).toEqual([]);
  expect(results).toHaveLength(escapeCases.length);
}, 120_000);
