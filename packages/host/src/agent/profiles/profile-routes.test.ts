import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";

import { createClient } from "@holdfast/client";
import { expect, onTestFinished, test } from "vitest";

import { newSession, valueOf } from "../../../test/support/api-helpers.ts";
import { openApi } from "../../../test/support/api-rig.ts";

function open() {
  const home = mkdtempSync(join(tmpdir(), "holdfast-agents-"));
  onTestFinished(() => rmSync(home, { recursive: true, force: true }));
  const rig = openApi([], { home });
  onTestFinished(async () => {
    await rig.close();
    expect(rig.bugs).toEqual([]);
  });
  const write = (path: string, text: string) => {
    mkdirSync(dirname(join(home, path)), { recursive: true });
    writeFileSync(join(home, path), text);
  };
  const agent = (name: string, more = "") =>
    `---\nname: ${name}\ndescription: About ${name}.\n${more}---\nLook.\n`;
  return { ...rig, home, write, agent };
}

test("agents are listed with their limits and what is wrong with them, and switched off and on", async () => {
  const { client, home, write, agent } = open();
  write("agents/tides.md", agent("tides", "tools: read_file typo\nbudget:\n  steps: 3\n"));
  write("agents/broken.md", "Nothing.");
  const { agents, skipped } = valueOf(await client.listAgents());
  expect(agents).toMatchObject([
    {
      name: "tides",
      source: "home",
      state: "on",
      path: join(home, "agents/tides.md"),
      text: "Look.",
      tools: ["read_file", "typo"],
      budget: { steps: 3 },
      warnings: ["There is no tool typo, so the agent works without it."],
    },
  ]);
  expect(skipped).toMatchObject([{ path: join(home, "agents/broken.md") }]);
  const turn = (name: string, state: "on" | "off") =>
    client.switchAgent({ params: { name }, body: { state } });
  expect(valueOf(await turn("tides", "off")).agents).toMatchObject([{ state: "off" }]);
  expect(valueOf(await turn("tides", "on")).agents).toMatchObject([{ state: "on" }]);
  expect(await turn("nobody", "on")).toMatchObject({ error: { code: "agent_not_found" } });
});

test("a workspace's agent is shown before it is trusted, and only what was shown is trusted", async () => {
  const { client, write, agent } = open();
  const id = await newSession({ client });
  const file = `workspaces/${id}/.holdfast/agents/tides.md`;
  write(file, agent("tides"));
  const { available, workspace } = valueOf(await client.listSessionAgents({ params: { id } }));
  expect(available).toEqual([]);
  expect(workspace.agents).toMatchObject([
    { name: "tides", path: ".holdfast/agents/tides.md", state: "undecided" },
  ]);
  const [{ path, hash } = { path: "", hash: "" }] = workspace.agents;
  write(file, agent("tides", "mode: full\n"));
  const trust = (body: { path: string; hash: string }) =>
    client.trustAgent({ params: { id }, body: { ...body, decision: "trusted" } });
  expect(await trust({ path, hash })).toMatchObject({ error: { code: "agent_changed" } });
  expect(await trust({ path: "elsewhere", hash })).toMatchObject({
    error: { code: "agent_not_found" },
  });
  write(file, agent("tides"));
  expect(valueOf(await trust({ path, hash })).available).toEqual([
    { name: "tides", description: "About tides." },
  ]);
});

test("[safety] an API key reaches no agents", async () => {
  const rig = open();
  const { secret } = valueOf(await rig.client.createKey({ body: { name: "job" } }));
  const program = createClient({
    token: secret,
    fetch: (url, init) => rig.app.request(url, init, {}),
  });
  const id = await newSession({ client: program });
  for (const call of [
    program.listAgents(),
    program.listSessionAgents({ params: { id } }),
    program.switchAgent({ params: { name: "tides" }, body: { state: "off" } }),
  ])
    expect(await call).toMatchObject({ error: { code: "forbidden" } });
});
