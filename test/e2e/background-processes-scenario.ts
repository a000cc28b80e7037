import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Client } from "@holdfast/client";
import type { SessionId } from "@holdfast/protocol";
import { followUntil, hasEnded, readLog, serveWithClient, valueOf } from "./served-host.ts";

export const settings = {
  HOLDFAST_LEASE_MS: "2000",
  HOLDFAST_TOOL_RULES: "allow terminal",
};

/** A turn that leaves a process running. */
export async function startBackgroundProcess(client: Client, command: string): Promise<SessionId> {
  const { session } = valueOf(await client.createSession({ body: {} }));
  const text = `{rate:1000} {tool:terminal ${JSON.stringify({ command, background: true, seconds: 60 })}}`;
  await client.sendMessage({ params: { id: session.id }, body: { clientId: "one", text } });
  await followUntil(client, session.id, hasEnded);
  return session.id;
}

export async function reportsIn(client: Client, id: SessionId) {
  const { seq } = valueOf(await client.readSession({ params: { id } }));
  const log = await readLog(client, id, seq);
  return log.filter(
    ({ type, data }) =>
      type === "input.accepted" && JSON.stringify(data["clientId"]).startsWith('"process:'),
  );
}

/** Kills a host while its background process goes on; that ends, and another host starts. */
export async function killBesideAProcess(more: Record<string, string> = {}) {
  const own = { ...settings, ...more };
  const first = await serveWithClient(own);
  const id = await startBackgroundProcess(
    first.client,
    "echo begun; until [ -e go ]; do sleep 0.05; done; echo over > over; exit 7",
  );
  const before = valueOf(await first.client.listProcesses({ params: { id } })).processes;
  await first.host.kill();
  const workspace = join(first.home, "workspaces", id);
  writeFileSync(join(workspace, "go"), "");
  while (!existsSync(join(workspace, "over")))
    await new Promise((resolve) => setTimeout(resolve, 20));

  const { client } = await serveWithClient({ ...own, HOLDFAST_HOME: first.home });
  const { entries } = await followUntil(
    client,
    id,
    (state) => hasEnded(state) && JSON.stringify(state.entries).includes("exit code 7"),
  );
  const after = valueOf(await client.listProcesses({ params: { id } })).processes;
  return {
    before: before.map(({ state, end }) => [state, end]),
    after: after.map(({ state, end }) => [state, end]),
    turns: entries.filter((entry) => entry.type === "message" && entry.role === "user").length,
    reports: (await reportsIn(client, id)).length,
  };
}

export const reportedOnce = {
  before: [["running", null]],
  after: [["ended", "ended with exit code 7"]],
  turns: 2,
  reports: 1,
};
