import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { admitMessage } from "@holdfast/engine";
import { openTestSession, assertPresent } from "@holdfast/testing/fixtures/open-session";
import { says, scriptedModel } from "@holdfast/testing/fakes/scripted-model";
import { until } from "@holdfast/testing/rigs/run-rig";
import { ids } from "@holdfast/protocol";
import { expect, onTestFinished, test } from "vitest";

import { type McpServers } from "../../ops/config/mcp-servers.ts";
import { readConfig } from "../../ops/config/read-config.ts";
import { createAgentRuntime } from "../runtime.ts";
import { createToolset } from "../toolset.ts";
import { openFactStore } from "../memory/fact-store.ts";
import { openMemoryProviders } from "../memory/providers.ts";
import { modelsOf } from "../../../test/support/providers/models.ts";
import { openMcpRig, misbehavingServer } from "../../../test/support/mcp/mcp-rig.ts";

async function openTalk(servers: McpServers) {
  const home = mkdtempSync(join(tmpdir(), "holdfast-mcp-agents-"));
  const rig = openMcpRig(servers);
  const config = readConfig({ flags: { home }, environment: {}, personFolder: home });
  if (!config.ok) throw new Error(config.failure.message);
  const model = scriptedModel(() => says("Yes."));
  const bugs: Error[] = [];
  const { engine } = await createAgentRuntime({
    config: config.value,
    store: rig.store,
    models: modelsOf(model),
    memory: await openMemoryProviders(home, {
      choice: "off",
      facts: openFactStore({ register: rig.store.register, home }),
    }),
    toolset: createToolset(config.value, rig.store),
    report: (bug) => void bugs.push(bug),
    mcp: rig.mcp,
  });
  const { runner, log } = engine;
  onTestFinished(async () => {
    await runner.stop();
    await rig.stop();
    rmSync(home, { recursive: true, force: true });
  });
  let said = 0;
  return {
    rig,
    bugs,
    begin: () => openTestSession(rig.store),
    /** Sends a message and returns what the model was told about its tools. */
    async say({ owner, session }: Awaited<ReturnType<typeof openTestSession>>) {
      said += 1;
      const clientId = `say-${said}`;
      await admitMessage(log, ids, { owner, session, clientId, text: "Hello", mode: "queue" });
      runner.notify(owner, session);
      await runner.idle();
      return assertPresent(model.requests.at(-1)).tools;
    },
  };
}

test("[P9] a session sends byte-identical tools until a server changes its offer, which the log records", async () => {
  const talk = await openTalk({ strange: misbehavingServer("plain") });
  const { rig } = talk;
  const chat = await talk.begin();
  const first = await talk.say(chat);
  expect(first.map(({ name }) => name)).toContain("strange__read");
  await rig.call("strange__die");
  expect(JSON.stringify(await talk.say(chat))).toBe(JSON.stringify(first));
  await rig.call("strange__rename");
  await until(async () => (await rig.mcp.tools()).tools.has("strange__renamed"));
  const changed = (await talk.say(chat)).map(({ name }) => name);
  expect(changed).toContain("strange__renamed");
  expect(changed).not.toContain("strange__read");
  const events = await chat.events();
  const framed = events.filter(({ type }) => type === "context.framed");
  expect(framed.map(({ data }) => data["cause"])).toEqual(["first", "mcp tools"]);
  expect(events.filter(({ type }) => type === "notice.added")).toEqual([]);
  expect(talk.bugs).toEqual([]);
});

test("a disconnected server is announced once per session by the host, and the turn continues", async () => {
  const talk = await openTalk({ absent: { command: "/nowhere/at-all" } });
  const [one, other] = [await talk.begin(), await talk.begin()];
  for (const chat of [one, one, other])
    expect((await talk.say(chat)).some(({ name }) => name.startsWith("absent__"))).toBe(false);
  for (const chat of [one, other]) {
    const events = await chat.events();
    const notices = events.filter(({ type }) => type === "notice.added");
    expect(notices.map(({ data }) => [data["kind"], data["text"]])).toEqual([
      ["mcp_missing", expect.stringContaining("not connected: absent.")],
    ]);
    expect(events.filter(({ data }) => data["state"] === "completed")).not.toEqual([]);
  }
  expect(talk.bugs).toEqual([]);
});
