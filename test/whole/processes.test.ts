import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeEach, expect, test } from "vitest";
import { type Client, executeCommand, processInWords, type SessionId } from "@holdfast/protocol";
import { requirePage } from "../support/page.ts";
import { followUntil, hasEnded, readLog, serve, valueOf } from "./client.ts";

beforeEach(requirePage);

const settings = {
  HOLDFAST_LEASE_MS: "2000",
  HOLDFAST_TOOL_RULES: "allow terminal",
};

/** A turn that leaves a process behind. */
async function leaveBehind(client: Client, command: string): Promise<SessionId> {
  const { session } = valueOf(await client.createSession({ body: {} }));
  const text = `{rate:1000} {tool:terminal ${JSON.stringify({ command, background: true, seconds: 60 })}}`;
  await client.sendMessage({ params: { id: session.id }, body: { clientId: "one", text } });
  await followUntil(client, session.id, hasEnded);
  return session.id;
}

async function reportsIn(client: Client, id: SessionId) {
  const { seq } = valueOf(await client.readSession({ params: { id } }));
  const log = await readLog(client, id, seq);
  return log.filter(
    ({ type, data }) =>
      type === "input.accepted" && JSON.stringify(data["clientId"]).startsWith('"process:'),
  );
}

test("[P11] a process outlives its turn and a kill -9 of its host; its end is told once, by the next host, and begins a turn", async () => {
  const first = await serve(settings);
  const id = await leaveBehind(
    first.client,
    "echo begun; until [ -e go ]; do sleep 0.05; done; echo over > over; exit 7",
  );
  const { processes } = valueOf(await first.client.listProcesses({ params: { id } }));
  expect(processes).toMatchObject([{ sessionId: id, state: "running", end: null }]);
  await first.host.kill();
  const workspace = join(first.home, "workspaces", id);
  writeFileSync(join(workspace, "go"), "");
  while (!existsSync(join(workspace, "over")))
    await new Promise((resolve) => setTimeout(resolve, 20));

  const second = await serve({ ...settings, HOLDFAST_HOME: first.home });
  const { entries } = await followUntil(
    second.client,
    id,
    (state) => hasEnded(state) && JSON.stringify(state.entries).includes("exit code 7"),
  );
  expect(entries.filter((entry) => entry.type === "message" && entry.role === "user")).toHaveLength(
    2,
  );
  const ended = valueOf(await second.client.listProcesses({ params: { id } })).processes;
  expect(ended).toMatchObject([{ state: "ended", end: "ended with exit code 7" }]);
  expect(await reportsIn(second.client, id)).toHaveLength(1);
});

test("a person stops a process, and one whose session goes to the trash ends", async () => {
  const { client, home } = await serve(settings);
  const one = await leaveBehind(
    client,
    "trap 'echo > stopped; exit 0' TERM; while :; do sleep 0.05; done",
  );
  const [process] = valueOf(await client.listProcesses({ params: { id: one } })).processes;
  const place = { client, sessionId: one, key: "typed-1", now: Date.now };
  const argument = process!.id.slice(-6);
  expect(processInWords(process!)).toContain(`: runs; /processes ${argument} stops it`);
  expect(await executeCommand(place, { name: "processes", argument })).toMatchObject({
    kind: "processes",
    processes: [{ id: process!.id, end: "was stopped" }],
  });
  expect(existsSync(join(home, "workspaces", one, "stopped"))).toBe(true);
  expect(await reportsIn(client, one)).toEqual([]);

  const two = await leaveBehind(
    client,
    "trap 'echo > stopped; exit 0' TERM; while :; do sleep 0.05; done",
  );
  await client.trashSession({ params: { id: two } });
  const sign = join(home, "workspaces", two, "stopped");
  while (!existsSync(sign)) await new Promise((resolve) => setTimeout(resolve, 20));
});
