import type { Client, SessionState } from "@holdfast/client";
import type { RunId, SessionId, StoredEvent } from "@holdfast/protocol";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { requirePage } from "./page/require-page.ts";
import {
  followUntil,
  hasEnded,
  readLog,
  serveWithClient,
  textIn,
  valueOf,
  countWords,
} from "./served-host.ts";

const settings = { HOLDFAST_RESUME: "ask" };
const ends: (() => void | Promise<void>)[] = [];
let served: Awaited<ReturnType<typeof serveWithClient>>;
let client: Client;

/** One host for all of them; the last tests kill it and continue with the next one on the same home. */
async function start(home: Record<string, string> = {}): Promise<void> {
  served = await serveWithClient({ ...settings, ...home }, (end) => void ends.push(end));
  client = served.client;
}

async function killAndStartAgain(): Promise<void> {
  await served.host.kill();
  await start({ HOLDFAST_HOME: served.home });
}

beforeAll(() => start());
afterAll(async () => {
  for (const end of ends.toReversed()) await end();
});
beforeEach(requirePage);

async function newSession(): Promise<SessionId> {
  return valueOf(await client.createSession({ body: {} })).session.id;
}

let sent = 0;
async function send(id: SessionId, text: string) {
  const body = { clientId: `message-${++sent}`, text };
  return valueOf(await client.sendMessage({ params: { id }, body }));
}

/** A session in which each of these was said and answered with two words. */
async function talked(...texts: readonly string[]): Promise<SessionId> {
  const id = await newSession();
  for (const text of texts) {
    await send(id, `${text} {words:2}`);
    await followUntil(client, id, hasEnded);
  }
  return id;
}

/** A session whose model is in the middle of a long answer. */
async function speaking(text: string) {
  const id = await talked("One");
  const { runId } = await send(id, text);
  const state = await followUntil(client, id, ({ live }) => (live?.messages.length ?? 0) > 0);
  return { id, runId, seen: liveText(state) };
}

const long = "Two {rate:20}{words:400}";

const liveText = ({ live }: SessionState): string =>
  (live?.messages ?? []).flatMap(({ parts }) => parts.map(({ text }) => text)).join("");

async function read(id: SessionId) {
  return valueOf(await client.readSession({ params: { id } }));
}

/** The visible questions by their first word, and how often each was answered. */
async function shown(id: SessionId): Promise<string[]> {
  const said: string[] = [];
  for (const entry of (await read(id)).entries) {
    if (entry.type !== "message") continue;
    if (entry.role === "user") said.push(textIn(entry).split(" ")[0] ?? "");
    else said.push(entry.partial ?? "answer");
  }
  return said;
}

async function seqOf(id: SessionId, place: number) {
  return (await read(id)).entries[place]!.seq;
}

async function logOf(id: SessionId): Promise<StoredEvent[]> {
  return readLog(client, id, (await read(id)).seq);
}

function endsOf(events: readonly StoredEvent[], runId: RunId): unknown[] {
  const terminal = new Set<unknown>(["completed", "cancelled", "failed", "interrupted", "limit"]);
  return events
    .filter((event) => event.type === "run.state" && event.runId === runId)
    .map(({ data }) => data["state"])
    .filter((state) => terminal.has(state));
}

test("[P8] undone, truncated and cleared entries are hidden, and redo brings each back", async () => {
  const id = await talked("One", "Two");
  const params = { id };
  const everything = ["One", "answer", "Two", "answer"];
  const before = await logOf(id);
  valueOf(await client.undo({ params, body: {} }));
  expect(await shown(id)).toEqual(["One", "answer"]);
  valueOf(await client.redo({ params, body: {} }));
  expect(await shown(id)).toEqual(everything);
  valueOf(await client.truncate({ params, body: { from: await seqOf(id, 1) } }));
  expect(await shown(id)).toEqual(["One"]);
  valueOf(await client.clear({ params, body: {} }));
  expect(await shown(id)).toEqual([]);
  for (const _ of ["clear", "truncate"]) valueOf(await client.redo({ params, body: {} }));
  expect(await shown(id)).toEqual(everything);
  expect(await client.redo({ params, body: {} })).toMatchObject({
    error: { code: "nothing_to_redo" },
  });
  const kept = (event: StoredEvent): boolean => event.type !== "message.delta";
  expect((await logOf(id)).filter(kept).slice(0, before.filter(kept).length)).toEqual(
    before.filter(kept),
  );
});

test("a question is asked again with a new text, and its answer replaces the old one", async () => {
  const id = await talked("One", "Two");
  const body = { from: await seqOf(id, 0), text: "Eins {words:2}" };
  const { runId } = valueOf(await client.retry({ params: { id }, body }));
  const { run } = await followUntil(client, id, (state) => hasEnded(state));
  expect(run).toMatchObject({ id: runId, state: "completed" });
  expect(await shown(id)).toEqual(["Eins", "answer"]);
});

test("a branch and a duplicate continue on their own, and the first session stays as it was", async () => {
  const id = await talked("One", "Two");
  const at = await seqOf(id, 1);
  const branched = valueOf(await client.branch({ params: { id }, body: { at } })).session;
  const copy = valueOf(await client.duplicate({ params: { id }, body: {} })).session;
  await send(branched.id, "Other {words:2}");
  await followUntil(client, branched.id, hasEnded);
  expect(await shown(branched.id)).toEqual(["One", "answer", "Other", "answer"]);
  expect(await shown(copy.id)).toEqual(["One", "answer", "Two", "answer"]);
  expect(await shown(id)).toEqual(["One", "answer", "Two", "answer"]);
});

test("[S3.21] a cut never waits for an answer: it is refused while one is written, or ends it first", async () => {
  const { id, runId, seen } = await speaking(long);
  const params = { id };
  expect(await client.undo({ params, body: {} })).toMatchObject({ error: { code: "run_live" } });
  valueOf(await client.undo({ params, body: { interrupt: true } }));
  expect(await shown(id)).toEqual(["One", "answer"]);
  expect(valueOf(await client.readRun({ params: { id: runId } })).run.state).toBe("cancelled");
  valueOf(await client.redo({ params, body: {} }));
  const entry = (await read(id)).entries.findLast((item) => item.type === "message");
  expect(entry && textIn(entry).startsWith(seen)).toBe(true);
  expect(endsOf(await logOf(id), runId)).toEqual(["cancelled"]);
});

test("[P13] a session deleted while it streams is restored settled, with what was said", async () => {
  const { id, runId, seen } = await speaking(long);
  const params = { id };
  expect(valueOf(await client.trashSession({ params })).session).toMatchObject({
    liveRun: null,
    lastState: "cancelled",
  });
  expect(await client.sendMessage({ params, body: { clientId: "late", text: "x" } })).toMatchObject(
    { error: { code: "session_trashed" } },
  );
  valueOf(await client.restoreSession({ params }));
  const { entries, inbox, live } = await read(id);
  expect({ inbox, live }).toEqual({ inbox: [], live: null });
  const entry = entries.findLast((item) => item.type === "message");
  expect(entry && textIn(entry).startsWith(seen)).toBe(true);
  expect(endsOf(await logOf(id), runId)).toEqual(["cancelled"]);
  await send(id, "Three {words:2}");
  await followUntil(client, id, hasEnded);
  expect((await shown(id)).slice(-2)).toEqual(["Three", "answer"]);
});

test("[S3.17] a title chosen by a person stays, though a generated one is on its way", async () => {
  const sessions = await Promise.all(Array.from({ length: 5 }, newSession));
  const named = sessions.map(async (id, place) => {
    await send(id, `Herons on one leg ${place} {words:2}`);
    await followUntil(client, id, hasEnded);
    return valueOf(await client.changeSession({ params: { id }, body: { title: "Chosen" } }));
  });
  await Promise.all(named);
  const last = await talked("A title that comes");
  const isTitled = ({ session }: SessionState): boolean => session.titleSource === "generated";
  expect((await followUntil(client, last, isTitled)).session.title).toBe("A title that comes");
  for (const id of sessions)
    expect((await read(id)).session).toMatchObject({ title: "Chosen", titleSource: "chosen" });
});

test("a command sent twice under one key runs once, and gets its first answer again", async () => {
  const id = await talked("One", "Two", "Three");
  const params = { id };
  const headers = { "idempotency-key": "undo-once" };
  const commands = [1, 2].map(() => client.undo({ params, headers, body: {} }));
  const [first, second] = (await Promise.all(commands)).map(valueOf);
  expect(second).toEqual(first);
  expect(await shown(id)).toEqual(["One", "answer", "Two", "answer"]);
  expect(await client.undo({ params, headers, body: { turns: 2 } })).toMatchObject({
    error: { code: "idempotency_conflict", problem: { status: 409 } },
  });
});

test("[P4] a run that kill -9 cut off waits for a person, and ends once after resume", async () => {
  const { id, runId, seen } = await speaking("Two {rate:100}{words:400}");
  await killAndStartAgain();
  const paused = await followUntil(client, id, ({ run }) => run?.state === "paused");
  expect(paused.run).toMatchObject({ id: runId, endedAt: null });
  const headers = { "idempotency-key": "resume-once" };
  const resume = () => client.resumeRun({ params: { id: runId }, headers });
  const runs = (await Promise.all([resume(), resume()])).map((item) => valueOf(item).run.id);
  expect(runs).toEqual([runId, runId]);
  const { run, entries } = await followUntil(client, id, hasEnded);
  expect(run).toMatchObject({ id: runId, state: "completed" });
  expect(endsOf(await logOf(id), runId)).toEqual(["completed"]);
  const said = entries.flatMap((entry) => (entry.type === "message" ? [textIn(entry)] : []));
  expect(said.some((text) => text.startsWith(seen))).toBe(true);
  expect(countWords(said.at(-1) ?? "")).toBe(400);
  expect(valueOf(await resume()).run.id).toBe(runId);
});

test("a command in progress or just done when the host was killed is done once", async () => {
  const id = await talked("One", "Two");
  const params = { id };
  const undo = () =>
    client.undo({ params, headers: { "idempotency-key": "undo-again" }, body: {} });
  const branch = () =>
    client.branch({ params, headers: { "idempotency-key": "branch-once" }, body: {} });
  const undone = valueOf(await undo());
  const lost = new AbortController();
  const headers = { "idempotency-key": "branch-once" };
  const cutOff = client.branch({ params, headers, body: {} }, { signal: lost.signal });
  await killAndStartAgain();
  lost.abort();
  await cutOff;

  expect(valueOf(await undo())).toMatchObject({ seq: undone.seq });
  expect(await shown(id)).toEqual(["One", "answer"]);
  const branched = [valueOf(await branch()), valueOf(await branch())].map(
    ({ session }) => session.id,
  );
  expect(branched[1]).toBe(branched[0]);
  const { sessions } = valueOf(await client.listSessions());
  const branches = sessions.filter((session) => session.origin?.sessionId === id);
  expect(branches.map((session) => session.id)).toEqual([branched[0]]);
});
