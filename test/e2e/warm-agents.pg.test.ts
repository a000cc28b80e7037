import { readFileSync } from "node:fs";
import { join } from "node:path";
import { laneKey } from "@holdfast/protocol";
import { createDatabase } from "@holdfast/testing/postgres/create-database";
import { expect, onTestFinished, test } from "vitest";
import { followUntil, hasEnded, readLog, serveWithClient, valueOf } from "./served-host.ts";

const stores = {
  sqlite: async () => ({}),
  async postgres() {
    const database = await createDatabase();
    onTestFinished(() => database[Symbol.asyncDispose]());
    return { HOLDFAST_STORE: database.url };
  },
};

/** Counts of agents taken and evicted, by label, from the host's metrics. */
async function agentMetrics(address: string, token: string): Promise<Record<string, number>> {
  const response = await fetch(new URL("/metrics", address), {
    headers: { authorization: `Bearer ${token}` },
  });
  const lines = (await response.text()).split("\n");
  const samples = lines.filter((line) => /^holdfast_agents_(?:taken|evicted)_total\{/.test(line));
  return Object.fromEntries(
    samples.map((line) => [
      /\{\w+="(?<label>\w+)"\}/.exec(line)?.groups?.["label"] ?? line,
      Number(line.slice(line.lastIndexOf(" "))),
    ]),
  );
}

test.each(["sqlite", "postgres"] as const)(
  "[S1.1] %s: a host serves ten turns that alternate between two sessions of a lane with one agent, and commits no memory",
  async (kind) => {
    const { client, address, token, home } = await serveWithClient({
      ...(await stores[kind]()),
      HOLDFAST_TOOL_POLICY: "trusted",
    });
    const lane = laneKey.parse("notes:desk");
    const sessions = [
      valueOf(await client.createSession({ body: {} })).session.id,
      valueOf(await client.createSession({ body: {} })).session.id,
    ];
    for (let turn = 0; turn < 5; turn += 1)
      for (const id of sessions) {
        const text = `{tool:write_file {"path": "turn", "content": "${turn} of ${id}"}}`;
        const body = { clientId: `${id}-${turn}`, text, lane };
        const { runId } = valueOf(await client.sendMessage({ params: { id }, body }));
        await followUntil(client, id, (state) => hasEnded(state) && state.run?.id === runId);
      }
    const { build, hit = 0, fold = 0, ...evictions } = await agentMetrics(address, token);
    expect({ build, reused: hit + fold, evictions }).toEqual({
      build: 1,
      reused: 9,
      evictions: {},
    });
    for (const id of sessions) {
      const { session } = valueOf(await client.readSession({ params: { id } }));
      const types = (await readLog(client, id, session.head)).map(({ type }) => type);
      expect(types.filter((type) => type === "memory.marked")).toHaveLength(5);
      expect(types).not.toContain("memory.committed");
      expect(readFileSync(join(home, "workspaces", id, "turn"), "utf8")).toBe(`4 of ${id}`);
    }
  },
);
