import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { decodeEvent, ids, laneKey, ownerId } from "@holdfast/protocol";
import { databases } from "@holdfast/testing/databases/databases";
import { openTestSession, type TestSession } from "@holdfast/testing/fixtures/open-session";
import { admitMessage } from "@holdfast/engine";
import { expect, onTestFinished, test } from "vitest";

import { readConfig } from "../ops/config/read-config.ts";
import { openFactStore } from "./memory/fact-store.ts";
import { openMemoryProviders } from "./memory/providers.ts";
import { memorySecrets } from "../../test/support/providers/models.ts";
import { createModelRegistry } from "./models/registry.ts";
import { createAgentRuntime } from "./runtime.ts";
import { createToolset } from "./toolset.ts";

type Database = (typeof databases)[number];

/** The host's own engine with two sessions of one lane, each in its own folder. */
async function open(factory: Database) {
  const database = await factory.create();
  onTestFinished(() => database.drop());
  const store = await database.open();
  const home = mkdtempSync(join(tmpdir(), "holdfast-agents-"));
  onTestFinished(() => rmSync(home, { recursive: true }));
  const environment = { HOLDFAST_TOOL_POLICY: "trusted" };
  const config = readConfig({ flags: { home }, environment, personFolder: home });
  if (!config.ok) throw new Error(config.failure.message);
  const report = (bug: Error): never => {
    throw bug;
  };
  const toolset = createToolset(config.value, store);
  const { engine, titles } = await createAgentRuntime({
    config: config.value,
    store,
    models: createModelRegistry({
      config: config.value,
      environment: {},
      secrets: memorySecrets(),
    }),
    memory: await openMemoryProviders(home, {
      choice: "facts",
      facts: openFactStore({ register: store.register, home }),
    }),
    toolset,
    report,
  });
  onTestFinished(() => engine.close());
  const owner = ownerId.parse("owner");
  const lane = laneKey.parse("telegram:424242:p7:0");
  const a = await openTestSession(store, {}, owner);
  const b = await openTestSession(store, {}, owner);
  return {
    a,
    b,
    engine,
    readFile: async ({ session }: TestSession, name: string) =>
      readFileSync(join(await toolset.workspaces.folderFor({ owner, session }), name), "utf8"),
    say: async ({ session }: TestSession, text: string): Promise<void> => {
      const input = { owner, session, lane, clientId: ids.make("message"), text };
      const admitted = await admitMessage(engine.log, ids, input);
      if (admitted.status !== "accepted") throw new Error(JSON.stringify(admitted));
      engine.runner.notify(owner, session);
      await engine.runner.idle();
      await titles.idle();
      expect(await store.reads.run(owner, admitted.runId)).toMatchObject({ state: "completed" });
    },
  };
}

async function framesOf(chat: TestSession) {
  return (await chat.entries()).flatMap((entry) => {
    const decoded = decodeEvent(entry);
    if (decoded.kind !== "known" || decoded.event.type !== "context.framed") return [];
    return decoded.event.data.frame.signature;
  });
}

test.each(databases.map((database) => [database.name, database] as const))(
  "[S1.1] %s: two sessions of a lane with their own folders share one agent, and nothing is committed to memory",
  async (_name, database) => {
    const { a, b, engine, say, readFile } = await open(database);
    for (let turn = 0; turn < 5; turn += 1)
      for (const [name, chat] of [
        ["a", a],
        ["b", b],
      ] as const)
        await say(chat, `{tool:write_file {"path": "${turn}.txt", "content": "${name}${turn}"}}`);
    const { builds, hits, folds, evictions, agents } = engine.agents.figures();
    expect({ builds, reused: hits + folds, evictions, agents }).toEqual({
      builds: 1,
      reused: 9,
      evictions: {},
      agents: 1,
    });
    expect(engine.memory.figures().boundaries).toEqual({});
    for (const chat of [a, b]) {
      const types = (await chat.events()).map(({ type }) => type);
      expect(types.filter((type) => type === "memory.marked")).toHaveLength(5);
      expect(types).not.toContain("memory.committed");
    }
    expect([await readFile(a, "4.txt"), await readFile(b, "4.txt")]).toEqual(["a4", "b4"]);
    // P9: one frame each, with the same parts in its signature as before agents were shared.
    const [first, second] = [await framesOf(a), await framesOf(b)];
    expect([first.length, second.length]).toEqual([1, 1]);
    const [ofA = [], ofB = []] = [first[0]?.split(" "), second[0]?.split(" ")];
    const names = ofA.map((part) => part.slice(0, part.indexOf("=")));
    expect(names).toEqual(["model", "owner", "persona", "workspace", "tools"]);
    expect(ofA.filter((part, index) => part !== ofB[index])).toEqual([
      expect.stringMatching(/^workspace=/),
    ]);
  },
);
