import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";

import { createClient } from "@holdfast/client";
import { expect, onTestFinished, test } from "vitest";

import { newSession } from "../../../../test/support/api-helpers.ts";
import { runHere, serveHere } from "../../../../test/support/command-rig.ts";

async function open() {
  const home = mkdtempSync(join(tmpdir(), "holdfast-cli-"));
  onTestFinished(() => rmSync(home, { recursive: true, force: true }));
  const write = (folder: string, name: string, more = "") => {
    const file = join(home, folder, `${name}.md`);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, `---\nname: ${name}\ndescription: About ${name}.\n${more}---\nLook.\n`);
  };
  const { settings, close } = await serveHere(home);
  onTestFinished(close);
  const client = createClient({
    baseUrl: settings.HOLDFAST_URL,
    token: settings.HOLDFAST_TOKEN,
  });
  const agents = (...args: string[]) => runHere(["agents", ...args], settings);
  return { home, write, settings, client, agents };
}

test("agents are listed, shown with their limits, and switched off and on", async () => {
  const { home, write, agents } = await open();
  write("agents", "tides", "tools: read_file\nmode: plan\nbudget:\n  cost: 0.5\n  minutes: 2\n");
  expect((await agents()).said).toBe(`tides\ton\tAbout tides.\t${join(home, "agents/tides.md")}\n`);
  const { said } = await agents("show", "tides");
  expect(said).toContain("Tools: read_file\nMode: plan at most\nBudget: $0.50\nBudget: 2 min\n");
  expect(said).toContain("\nLook.\n");
  expect(await agents("off", "tides")).toMatchObject({ code: 0, said: "Switched off: tides\n" });
  expect((await agents("list")).said).toContain("tides\toff\t");
  expect(await agents("on", "tides")).toMatchObject({ code: 0 });
  expect(await agents("on", "nobody")).toMatchObject({ code: 2 });
});

test("a workspace's agent is listed with its session, and trusted or refused", async () => {
  const { write, client, agents, settings } = await open();
  const id = await newSession({ client });
  write(`workspaces/${id}/.holdfast/agents`, "tides");
  const state = async () =>
    (await agents("list", "--session", id)).said.split("\n")[0]?.split("\t").slice(0, 2);
  expect(await state()).toEqual(["tides", "undecided"]);
  expect(await agents("trust", "tides")).toMatchObject({ code: 2 });
  expect(await agents("trust", "tides", "--session", id)).toMatchObject({ code: 0 });
  expect(await state()).toEqual(["tides", "on"]);
  const shown = await runHere(["chat", "--session", id], settings, "/agents\n");
  expect(`${shown.told}${shown.said}`).toContain("tides: About tides.");
  expect(await agents("refuse", "tides", "--session", id)).toMatchObject({ code: 0 });
  expect(await state()).toEqual(["tides", "refused"]);
});
