import { type Client } from "@holdfast/client";
import { type RunState, type SessionId, terminalStates } from "@holdfast/protocol";
import { followUntil, hasEnded, readLog, serveWithClient, valueOf } from "./served-host.ts";

async function childrenOf(client: Client, parent: SessionId) {
  const query = { archived: true, tag: `child-of:${parent}` } as const;
  return valueOf(await client.listSessions({ query })).sessions;
}

/** Kills a host while a child works for a call of its parent, and starts another one. */
export async function killWhileAChildWorks(settings: Record<string, string> = {}) {
  const own = { ...settings, HOLDFAST_LEASE_MS: "2000" };
  const first = await serveWithClient(own);
  const { session } = valueOf(await first.client.createSession({ body: {} }));
  const task = "{words:8} {stall:5} {words:8}";
  const text = `{tool:delegate ${JSON.stringify({ task })}}`;
  await first.client.sendMessage({
    params: { id: session.id },
    body: { clientId: "one", text },
  });
  await followUntil(first.client, session.id, ({ live }) =>
    (live?.tools ?? []).some(({ output }) => output.includes("has the task")),
  );
  const [child] = await childrenOf(first.client, session.id);
  // On a slow machine it may have ended by now: then there is nothing left to continue.
  await followUntil(
    first.client,
    child!.id,
    (state) =>
      hasEnded(state) || (state.live?.messages ?? []).some(({ parts }) => parts.length > 0),
  );
  await first.host.kill();

  const { client } = await serveWithClient({ ...own, HOLDFAST_HOME: first.home });
  const { entries } = await followUntil(client, session.id, hasEnded);
  const results = entries.flatMap((entry) =>
    entry.type === "message" ? entry.parts.filter((part) => part.type === "tool_result") : [],
  );
  const read = valueOf(await client.readSession({ params: { id: child!.id } }));
  const log = await readLog(client, child!.id, read.seq);
  const states = log.flatMap(({ type, data }) => (type === "run.state" ? [data["state"]] : []));
  return {
    parentOfChild: read.session.parent?.sessionId === session.id ? "the caller" : "another",
    children: (await childrenOf(client, session.id)).length,
    accepted: log.filter(({ type }) => type === "input.accepted").length,
    ends: states.filter((state) => terminalStates.has(state as RunState)),
    results: results.map(({ outcome }) => outcome),
    namesTheChild: results.every(({ output }) => output.includes(child!.id)),
  };
}

export const deliveredOnce = {
  parentOfChild: "the caller",
  children: 1,
  accepted: 1,
  ends: ["completed"],
  results: ["ok"],
  namesTheChild: true,
};
