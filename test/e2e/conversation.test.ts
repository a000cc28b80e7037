import { beforeEach, expect, test } from "vitest";
import {
  emptySessionRead,
  type Client,
  reduceEvents,
  type SessionState,
  startState,
} from "@holdfast/client";
import {
  type EntryView,
  type MessageEntry,
  type MessageId,
  type RunId,
  type StoredEvent,
} from "@holdfast/protocol";
import { requirePage } from "./page/require-page.ts";
import { hostScript, startHost, startProcess } from "@holdfast/testing/process/start-process";
import {
  followUntil,
  hasEnded,
  readLog,
  serveWithClient,
  textIn,
  valueOf,
  countWords,
  makeFolder,
  settingsFor,
} from "./served-host.ts";

beforeEach(requirePage);

async function begin(client: Client, text: string) {
  const { session } = valueOf(await client.createSession({ body: {} }));
  const params = { id: session.id };
  const sent = valueOf(await client.sendMessage({ params, body: { clientId: "first", text } }));
  return { id: session.id, params, ...sent };
}

/** The text of a message, settled or not. */
function textsOf({ entries, live }: SessionState): Map<MessageId, string> {
  const texts = new Map<MessageId, string>();
  for (const entry of entries) if (isAnswer(entry)) texts.set(entry.messageId, textIn(entry));
  for (const { messageId, parts } of live?.messages ?? [])
    texts.set(messageId, parts.map(({ text }) => text).join(""));
  return texts;
}

function isAnswer(entry: EntryView): entry is MessageEntry {
  return entry.type === "message" && entry.role === "assistant";
}

function endsOf(events: readonly StoredEvent[], runId: RunId): unknown[] {
  return events
    .filter((event) => event.type === "run.state" && event.runId === runId)
    .map((event) => event.data["state"])
    .filter((state) => state === "completed" || state === "cancelled" || state === "interrupted");
}

test("a message is answered word by word, and a fresh read equals what was followed", async () => {
  const { client } = await serveWithClient();
  const { id, params, runId } = await begin(client, "{words:30}");
  // The title comes after the answer, and nothing follows it.
  const isOver = (seen: SessionState): boolean =>
    hasEnded(seen) && seen.session.titleSource === "generated";
  const { gaps, readAgain, ...state } = await followUntil(client, id, isOver);
  expect({ gaps, readAgain }).toEqual({ gaps: [], readAgain: null });
  expect(state.run).toMatchObject({ id: runId, state: "completed" });
  expect([...textsOf({ ...state, gaps, readAgain }).values()].map(countWords)).toEqual([30]);
  expect(valueOf(await client.readSession({ params }))).toEqual(state);

  const events = await readLog(client, id, state.seq);
  const blank = startState(emptySessionRead(id, state.session.owner));
  expect(reduceEvents(blank, events)).toEqual({ ...state, gaps: [], readAgain: null });
});

test("[P1] a message that is sent again is one message, and another text under its id is refused", async () => {
  const { client, home, host } = await serveWithClient();
  const { params, messageId, runId, seq } = await begin(client, "{words:5}");
  const first = { messageId, runId, seq };
  const again = (connected: Client, text: string) =>
    connected.sendMessage({ params, body: { clientId: "first", text } });
  expect(valueOf(await again(client, "{words:5}"))).toEqual(first);
  expect(await again(client, "other words")).toMatchObject({
    error: { code: "idempotency_conflict", problem: { status: 409 } },
  });
  await host.kill();

  const next = await serveWithClient({ HOLDFAST_HOME: home });
  expect(valueOf(await again(next.client, "{words:5}"))).toEqual(first);
  const { entries } = await followUntil(next.client, params.id, hasEnded);
  expect(entries.filter((entry) => entry.type === "message" && entry.role === "user")).toHaveLength(
    1,
  );
});

test("[P5] what was seen before a kill is still there after it, and the run continues to one end", async () => {
  const { client, home, host } = await serveWithClient();
  const { id, runId } = await begin(client, "{rate:100} {words:400}");
  const before = await followUntil(client, id, (state) =>
    [...textsOf(state).values()].some((text) => countWords(text) > 60),
  );
  await host.kill();
  const [[messageId, seen] = []] = textsOf(before);
  if (messageId === undefined || seen === undefined) throw new Error("Nothing was seen.");

  const next = await serveWithClient({ HOLDFAST_HOME: home });
  const recovered = await followUntil(next.client, id, (state) =>
    state.entries.some((entry) => entry.type === "notice"),
  );
  expect(textsOf(recovered).get(messageId)?.startsWith(seen)).toBe(true);

  const { gaps, readAgain, ...state } = await followUntil(next.client, id, hasEnded);
  expect(
    textsOf({ ...state, gaps, readAgain })
      .get(messageId)
      ?.startsWith(seen),
  ).toBe(true);
  expect(state.run).toMatchObject({ id: runId, state: "completed", attempt: 1 });
  const events = await readLog(next.client, id, state.seq);
  // P4: one end; P2: every seq is an event's, or a settled message's that names it.
  expect(endsOf(events, runId)).toEqual(["completed"]);
  const blank = startState(emptySessionRead(id, state.session.owner));
  expect(reduceEvents(blank, events)).toMatchObject({ seq: state.seq, gaps: [], readAgain: null });
});

test("[P6] leaving is not stopping", async () => {
  const { client } = await serveWithClient();
  // Long enough that a late reader still finds it streaming.
  const { id, runId } = await begin(client, "{rate:100} {words:500}");
  const left = await followUntil(client, id, ({ live }) => (live?.messages.length ?? 0) > 0);
  expect(left.run).toMatchObject({ id: runId, endedAt: null });
  const state = await followUntil(client, id, hasEnded);
  expect(state.run).toMatchObject({ state: "completed", cancelRequested: false, attempt: 0 });
  expect([...textsOf(state).values()].map(countWords)).toEqual([500]);
});

test("[P6] a cancel from a second client ends the run early, and what was said stays", async () => {
  const { client, connect } = await serveWithClient();
  const { id, runId } = await begin(client, "{rate:50} {words:2000}");
  const live = await followUntil(client, id, (state) =>
    [...textsOf(state).values()].some((text) => countWords(text) > 10),
  );
  const second = connect();
  for (const _ of ["once", "again"]) valueOf(await second.cancelRun({ params: { id: runId } }));
  const state = await followUntil(client, id, hasEnded);
  expect(state.run).toMatchObject({ state: "cancelled", cancelRequested: true });
  const [[messageId, seen] = []] = textsOf(live);
  const kept = state.entries.filter(isAnswer).find((entry) => entry.messageId === messageId);
  expect(kept).toMatchObject({ partial: "cancelled" });
  expect(kept && textIn(kept).startsWith(seen ?? "nothing")).toBe(true);

  const events = await readLog(client, id, state.seq);
  const asked = events.filter((event) => event.type === "run.cancel");
  expect(asked).toHaveLength(1);
  expect((state.run?.endedAt ?? Infinity) - (asked[0]?.at ?? 0)).toBeLessThan(15_000);
});

test("a host stopped in mid-answer exits cleanly without waiting, and the next one continues", async () => {
  const { client, home, host } = await serveWithClient();
  const { id } = await begin(client, "{rate:100} {words:400}");
  await followUntil(client, id, ({ live }) => (live?.messages.length ?? 0) > 0);
  host.signal("SIGTERM");
  expect(await host.exited).toEqual({ code: 0, signal: null });
  expect(host.stderr()).toBe("");

  const next = await serveWithClient({ HOLDFAST_HOME: home });
  const state = await followUntil(next.client, id, hasEnded);
  expect(state.run).toMatchObject({ state: "completed", attempt: 1 });
});

test("an unknown model and a store that can't be opened are each reported in one sentence", async () => {
  const home = makeFolder();
  const model = startHost(["serve"], {
    env: settingsFor({ HOLDFAST_HOME: home, HOLDFAST_MODEL: "nonsense" }),
  });
  expect(await model.exited).toMatchObject({ code: 1 });
  expect(model.stderr()).toMatch(/^The environment variable HOLDFAST_MODEL .*rehearsal.*\n$/);
  const store = startHost(["serve"], {
    env: settingsFor({ HOLDFAST_HOME: home, HOLDFAST_STORE: home }),
  });
  expect(await store.exited).toMatchObject({ code: 1 });
  expect(store.stderr().trim().split("\n")).toHaveLength(1);
});

test("a host on SQLite doesn't load the PostgreSQL driver", async () => {
  const refusing = `import { registerHooks } from "node:module";
    registerHooks({ resolve(name, context, next) {
      if (name === "pg") throw new Error("pg was loaded");
      return next(name, context);
    } });`;
  const preload = `data:text/javascript,${encodeURIComponent(refusing)}`;
  const host = startProcess(["--import", preload, hostScript(), "serve"], {
    env: settingsFor({ HOLDFAST_HOME: makeFolder() }),
  });
  expect(await host.line((text) => text.startsWith("Holdfast is at "))).toContain("127.0.0.1");
});
