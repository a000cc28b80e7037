import {
  type Client,
  createClient,
  emptySessionRead,
  type OpenItem,
  reduceEvent,
  startState,
  type StreamBatch,
} from "@holdfast/client";
import {
  type EntryView,
  ids,
  type OwnerId,
  type Seq,
  type SessionRead,
  type StoredEvent,
} from "@holdfast/protocol";
import { expect, onTestFinished, test, vi } from "vitest";
import { createConversationStore } from "./conversation-store.ts";

const id = ids.make("session");

function message(seq: number): EntryView {
  const messageId = ids.make("message");
  return { type: "message", role: "user", seq: seq as Seq, at: seq, messageId, parts: [] };
}

/** Counts the reads of its data, which each reduction makes. */
function createCountedEvent(seq: number, type: string, data: StoredEvent["data"]) {
  let reads = 0;
  const event: StoredEvent = {
    seq: seq as Seq,
    id: ids.make("event"),
    type,
    v: 1,
    at: seq,
    get data() {
      reads++;
      return data;
    },
  };
  return { event, reads: () => reads };
}

/**
 * A host whose read returns the later half of the entries, and all of the others as one page, or the page that was
 * asked for. The test sends the events.
 */
function createHost(entryCount = 20, pages: "whole" | "as asked" = "whole") {
  const entries = Array.from({ length: entryCount }, (_, index) => message(index + 1));
  const half = entryCount / 2;
  const head: SessionRead = {
    ...emptySessionRead(id, "own_1" as OwnerId),
    entries: entries.slice(half),
    earlier: (half + 1) as Seq,
    seq: entryCount as Seq,
  };
  let controller: ReadableStreamDefaultController<StreamBatch> | undefined;
  let readCount = 0;
  const client = createClient({
    baseUrl: "http://host",
    fetch(url) {
      readCount++;
      const asked = new URL(url).searchParams;
      if (!asked.has("before")) return Response.json(head);
      const [before, limit] = [Number(asked.get("before")), Number(asked.get("limit"))];
      const page =
        pages === "whole"
          ? entries.slice(0, half)
          : entries.filter(({ seq }) => seq < before).slice(-limit);
      const [first] = page;
      const earlier = first === undefined || first.seq === 1 ? null : first.seq;
      return Response.json({ ...head, entries: page, earlier });
    },
    openStream: async () => ({
      ok: true,
      value: new ReadableStream({ start: (own) => void (controller = own) }),
    }),
  });
  const states: OpenItem[] = [];
  const observed: Client = {
    ...client,
    async *open(...args) {
      for await (const item of client.open(...args)) {
        states.push(item);
        yield item;
      }
    },
  };
  return {
    client: observed,
    head,
    readCount: () => readCount,
    lastState: () => states.findLast((item) => item.kind === "state")?.state,
    isFollowed: () => controller !== undefined,
    send: (event: StoredEvent) => controller?.enqueue([{ kind: "event", event, sessionId: id }]),
  };
}

function openStore(client: Client) {
  // The store reads this to decide how often to draw.
  vi.stubGlobal("document", { visibilityState: "hidden" });
  onTestFinished(() => void vi.unstubAllGlobals());
  const store = createConversationStore(client, id);
  onTestFinished(store.start());
  return store;
}

const seqs = (entries: readonly EntryView[] = []): number[] => entries.map(({ seq }) => seq);
const range = (from: number, to: number): number[] =>
  Array.from({ length: to - from + 1 }, (_, index) => from + index);

test("an event is reduced once, into the state that also holds the earlier entries", async () => {
  const host = createHost();
  const store = openStore(host.client);
  await expect.poll(host.isFollowed).toBe(true);
  await store.loadEarlier();
  expect(seqs(store.read().state?.entries)).toEqual(range(1, 20));

  const createMessage = () =>
    createCountedEvent(21, "message.user", {
      messageId: ids.make("message"),
      parts: [{ type: "text", text: "hello" }],
    });
  const alone = createMessage();
  reduceEvent(startState(host.head), alone.event);
  const sent = createMessage();
  host.send(sent.event);
  await expect.poll(() => store.read().state?.seq).toBe(21);
  expect(sent.reads()).toBe(alone.reads());
  expect(alone.reads()).toBeGreaterThan(0);
  expect(seqs(store.read().state?.entries)).toEqual(range(1, 21));
  expect(store.read().state).toBe(host.lastState());
});

test("a linked entry just above what is loaded joins it, and the end stays in view", async () => {
  const host = createHost(20, "as asked");
  const store = openStore(host.client);
  await expect.poll(host.isFollowed).toBe(true);
  await store.loadAround(10 as Seq);
  expect(seqs(store.read().state?.entries)).toEqual(range(1, 20));
  expect(store.read().detached).toBeNull();
});

test("entries that the tab dropped do not return with the next event", async () => {
  const host = createHost(1400);
  const store = openStore(host.client);
  await expect.poll(host.isFollowed).toBe(true);
  await store.loadEarlier();
  expect(store.read().state?.entries.length).toBe(1400);
  store.trimTo({ first: 1390 as Seq, last: 1400 as Seq });
  const kept = seqs(store.read().state?.entries);
  expect(kept.length).toBeLessThan(700);
  host.send(createCountedEvent(1401, "session.changed", { title: "later" }).event);
  await expect.poll(() => store.read().state?.session.title).toBe("later");
  expect(seqs(store.read().state?.entries)).toEqual(kept);
  expect(store.read().state?.earlier).toBe(kept[0]);
});

test("a missing event makes the store read the session again, and show what it read", async () => {
  const host = createHost();
  const store = openStore(host.client);
  await expect.poll(host.isFollowed).toBe(true);
  await store.loadEarlier();
  const readsBefore = host.readCount();
  host.send(createCountedEvent(25, "session.changed", { title: "late" }).event);
  await expect.poll(host.readCount).toBe(readsBefore + 1);
  await expect.poll(() => store.read().state?.readAgain).toBeNull();
  expect(seqs(store.read().state?.entries)).toEqual(range(11, 20));
});

/** A conversation of 1,000 messages whose last ten are loaded, at the range around an early one. */
async function openAtEarlyMessage() {
  const all = range(1, 1000).map(message);
  const head = { ...emptySessionRead(id, "own_1" as OwnerId), seq: 1000 as Seq };
  let controller: ReadableStreamDefaultController<StreamBatch> | undefined;
  let gate: Promise<void> = Promise.resolve();
  const client = createClient({
    baseUrl: "http://host",
    async fetch(url) {
      const { searchParams: query } = new URL(url);
      await gate;
      const before = Number(query.get("before") ?? 1001);
      const limit = query.has("before") ? Number(query.get("limit")) : 10;
      const above = all.filter(({ seq }) => seq < before);
      const entries = above.slice(-limit);
      const earlier = above.length > limit ? entries[0]?.seq : null;
      return Response.json({ ...head, entries, earlier });
    },
    openStream: async () => ({
      ok: true,
      value: new ReadableStream({ start: (own) => void (controller = own) }),
    }),
  });
  const store = openStore(client);
  await expect.poll(() => controller !== undefined).toBe(true);
  await store.loadAround(100 as Seq);
  expect(seqs(store.read().detached?.entries)).toContain(100);
  return {
    store,
    send: (event: StoredEvent) => controller?.enqueue([{ kind: "event", event, sessionId: id }]),
    holdReads: () => {
      const { promise, resolve } = Promise.withResolvers<void>();
      gate = promise;
      return resolve;
    },
  };
}

test.each([
  ["cut", "history.cut"],
  ["restored", "history.restored"],
])(
  "a history that was %s shows its end at once, not the range a link pointed to",
  async (_, type) => {
    const { store, send, holdReads } = await openAtEarlyMessage();
    // This must hold before the history is read again.
    const release = holdReads();
    onTestFinished(() => release());
    send(createCountedEvent(1001, type, { ranges: [{ from: 1, to: 995 }] }).event);
    await expect.poll(() => store.read().state?.seq).toBe(1001);
    expect(store.read().detached).toBeNull();
  },
);

test("a page that arrives after the reader has left its range is dropped", async () => {
  const { store, holdReads } = await openAtEarlyMessage();
  const release = holdReads();
  const loading = store.loadLater();
  store.returnToTail();
  release();
  await loading;
  expect(store.read().detached).toBeNull();
  expect(seqs(store.read().state?.entries)).toEqual(range(991, 1000));
});

test("a run that will call the model again says when, until it does", async () => {
  const host = createHost();
  const store = openStore(host.client);
  await expect.poll(host.isFollowed).toBe(true);
  const runId = ids.make("run");
  const send = (seq: number, type: string, data: StoredEvent["data"]): void =>
    host.send({ ...createCountedEvent(seq, type, data).event, data, runId });
  send(21, "run.state", { state: "running", cause: "model_overloaded", retryMs: 60_000 });
  await expect.poll(() => store.read().retryAt).not.toBeNull();
  expect(store.read().retryAt).toBeGreaterThan(Date.now());
  send(22, "step.started", { step: 1, model: "rehearsal" });
  await expect.poll(() => store.read().retryAt).toBeNull();
});
