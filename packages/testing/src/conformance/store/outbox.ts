import { type OutboxState, outboxState } from "@holdfast/protocol";

import type { OutboxRow, Store } from "@holdfast/engine";
import {
  aChatLane,
  aChunk,
  anEvent,
  anInbound,
  anInput,
  anOwner,
  aRunId,
  aUserMessage,
} from "../../fixtures/factories.ts";
import type { StoreCase } from "../harness.ts";
import {
  type TestSession,
  openTestSession,
  assertPresent,
  assertSameJson,
} from "../../fixtures/open-session.ts";

const minuteMs = 60_000;
const anyState = outboxState.options;

/** Accepts a message from a chat, and returns the pending chunk of its answer. */
async function acceptInbound(chat: TestSession, lane = aChatLane(), inbound = anInbound()) {
  const runId = aRunId();
  const { first } = await chat.commit([anInput({ runId, lane, inbound })]);
  return { runId, lane, begun: first, ...inbound };
}

async function chunksOf(
  { reads }: Store,
  { owner, session }: TestSession,
  states: readonly OutboxState[] = anyState,
): Promise<readonly OutboxRow[]> {
  return reads.outbox(owner, { session, states, limit: 1_000 });
}

/** Other cases leave work in the same store, so only these sessions count. */
async function dueSessions(store: Store, ...chats: TestSession[]) {
  const found = await store.work.undelivered(100_000);
  return chats.flatMap(({ session }) => found.filter((item) => item.session === session));
}

export const outboxCases: readonly StoreCase[] = [
  {
    title: "a message from a platform is accepted together with the pending chunk of its answer",
    async run({ store, open }) {
      const chat = await openTestSession(store);
      const inbound = { ...anInbound(), replyTo: "17" };
      const { runId, lane, begun } = await acceptInbound(chat, aChatLane(), inbound);
      const other = await open();
      const [row, ...rest] = await chunksOf(other, chat);
      const { key, delivery, replyTo } = inbound;
      const pending = {
        delivery,
        chunk: 0,
        kind: "answer",
        lane,
        runId,
        inbound: key,
        replyTo,
        begun,
      };
      const untouched = { state: "pending", from: 0, to: 0, attempts: 0, platformId: null };
      const none = { approvalId: null, text: null, retryAt: null, code: null, message: null };
      const { at } = assertPresent(row);
      assertSameJson(
        [row, ...rest],
        [{ session: chat.session, ...pending, ...untouched, ...none, at }],
      );
      assertSameJson(await other.reads.inbound(chat.owner, key), row);
      assertSameJson(await other.reads.inbound(anOwner(), key), null);
      assertSameJson(await other.reads.outbox(anOwner(), { states: anyState, limit: 9 }), []);
      await chat.commit([anInput({ lane: aChatLane() })]);
      assertSameJson(
        (await chunksOf(other, chat)).length,
        1,
        "nothing is owed to whoever reads on the page",
      );
      await other.close();
    },
  },
  {
    title: "an inbound message is accepted once, even after its lane has moved to another session",
    async run({ store, open }) {
      const one = await openTestSession(store);
      const two = await openTestSession(store, {}, one.owner);
      const { lane, key, delivery } = await acceptInbound(one);
      const again = { lane, inbound: anInbound(key) };
      await two.refuses("inbound_taken", [anInput(again)]);
      await one.refuses("inbound_taken", [anInput(again)]);
      await two.refuses("inbound_taken", [aChunk({ kind: "note", text: "Hi", inbound: key })]);
      await one.refuses("invalid_event", [anInput({ inbound: anInbound() })]);
      const both = [anInput({ lane, inbound: anInbound("telegram:1:7:both") })];
      await two.refuses("inbound_taken", [
        ...both,
        anInput({ lane, inbound: anInbound("telegram:1:7:both") }),
      ]);
      await one.commit([aChunk({ delivery, state: "sent", to: 4 })]);
      const rivals = [one, two.through(await open())].map((chat) =>
        chat.send([anInput({ lane, inbound: anInbound(`${key}:race`) })]),
      );
      const ended = (await Promise.all(rivals)).map(({ status }) => status);
      assertSameJson(ended.toSorted(), ["committed", "refused"]);
    },
  },
  {
    title: "a chunk has its latest state, sorted by delivery and chunk",
    async run({ store }) {
      const chat = await openTestSession(store);
      const first = await acceptInbound(chat);
      const second = await acceptInbound(chat);
      const of = ({ delivery, lane, begun }: typeof first) => ({ delivery, lane, begun });
      const said = { state: "sending", to: 10, attempts: 1 } as const;
      await chat.commit([aChunk({ ...of(first), ...said }, first.runId)]);
      const sent = { state: "sent", to: 12, attempts: 1, platformId: "501" } as const;
      const failure = { retryAt: 77, code: "rate_limited", message: "Later." };
      const next = { chunk: 1, from: 12, to: 12, attempts: 2, ...failure };
      await chat.commit([
        aChunk({ ...of(first), ...sent }, first.runId),
        aChunk({ ...of(first), ...next }, first.runId),
      ]);
      const rows = await chunksOf(store, chat);
      const [one, two, three] = rows;
      assertSameJson(
        rows.map((row) => [row.delivery, row.chunk, row.state]),
        [
          [first.delivery, 0, "sent"],
          [first.delivery, 1, "pending"],
          [second.delivery, 0, "pending"],
        ],
      );
      assertSameJson([one?.platformId, one?.to, one?.runId], ["501", 12, first.runId]);
      assertSameJson(one?.inbound, first.key, "what it answers is said once");
      assertSameJson(
        [two?.from, two?.retryAt, two?.code, two?.message],
        [12, 77, "rate_limited", "Later."],
      );
      assertSameJson(three?.inbound, second.key);
      assertSameJson((await chunksOf(store, chat, ["sent"])).length, 1);
      const query = { delivery: second.delivery, states: anyState, limit: 9 };
      assertSameJson((await store.reads.outbox(chat.owner, query)).length, 1);
      assertSameJson(
        (await store.reads.outbox(chat.owner, { states: anyState, limit: 2 })).length,
        2,
      );
      await chat.refuses("invalid_event", [aChunk({ from: 2, to: 1 })]);
    },
  },
  {
    title: "work is what is due to be sent, with the head of its log",
    async run({ store, advanceClock }) {
      const [old, young] = [await openTestSession(store), await openTestSession(store)];
      const first = await acceptInbound(old);
      await advanceClock(minuteMs);
      const { delivery } = await acceptInbound(young);
      const heads = async () => [(await old.row()).head, (await young.row()).head];
      assertSameJson(
        (await dueSessions(store, old, young)).map(({ head }) => head),
        await heads(),
      );
      await young.commit([aUserMessage()]);
      const { fence } = await old.lease("run");
      const { session } = old;
      await old.commit([anEvent("run.state", { state: "claimed" }, first.runId)]);
      assertSameJson(
        (await dueSessions(store, old, young)).map(({ head }) => head),
        await heads(),
      );
      await store.leases.release({ kind: "run", session, fence });
      const retryAt = (await store.now()) + 10 * minuteMs;
      await young.commit([aChunk({ delivery, retryAt })]);
      assertSameJson((await dueSessions(store, young)).length, 0);
      await advanceClock(11 * minuteMs);
      assertSameJson((await dueSessions(store, young)).length, 1);
      for (const state of ["sent", "unknown", "failed", "expired", "dropped"] as const) {
        await young.commit([aChunk({ delivery, state })]);
        assertSameJson((await dueSessions(store, young)).length, 0, state);
      }
      await young.commit([aChunk({ delivery, state: "sending" })]);
      assertSameJson((await dueSessions(store, young)).length, 1);
      assertSameJson(await store.work.undelivered(0), []);
      await advanceClock(-12 * minuteMs);
    },
  },
  {
    title: "a trashed session sends nothing, and a purge deletes its pending chunks",
    async run({ store }) {
      const chat = await openTestSession(store);
      const { key } = await acceptInbound(chat);
      await chat.commit([anEvent("session.trashed", {})]);
      assertSameJson([await dueSessions(store, chat), await chunksOf(store, chat)], [[], []]);
      assertSameJson(
        (await store.reads.inbound(chat.owner, key))?.inbound,
        key,
        "it was taken all the same",
      );
      await chat.commit([anEvent("session.restored", {})]);
      assertSameJson((await dueSessions(store, chat)).length, 1);
      await chat.commit([anEvent("session.trashed", {})]);
      await store.purge(chat.owner, chat.session);
      assertSameJson(await store.reads.inbound(chat.owner, key), null);
    },
  },
  {
    title: "lanes are found by prefix, the most recently moved first",
    async run({ store, advanceClock }) {
      const chat = await openTestSession(store);
      const [here, there] = [aChatLane(), aChatLane()];
      await chat.commit([anEvent("lane.bound", { lane: here })]);
      await advanceClock(1_000);
      await chat.commit([anEvent("lane.bound", { lane: there })]);
      const lanes = await store.reads.lanes(chat.owner, "telegram:1:", 9);
      assertSameJson(
        lanes.map(({ lane }) => lane),
        [there, here],
      );
      assertSameJson(lanes[0]?.session, chat.session);
      assertSameJson((await store.reads.lanes(chat.owner, here, 9)).length, 1);
      assertSameJson((await store.reads.lanes(chat.owner, "telegram:", 1)).length, 1);
      assertSameJson(await store.reads.lanes(chat.owner, "telegram:2", 9), []);
      assertSameJson(await store.reads.lanes(anOwner(), "", 9), []);
      await advanceClock(-1_000);
    },
  },
];
