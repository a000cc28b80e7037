import type { Seq } from "@holdfast/protocol";

import type { Store } from "@holdfast/engine";
import {
  aMark,
  anEvent,
  anOwner,
  aRunId,
  aRunState,
  aSegment,
  aSettledMessage,
} from "../../fixtures/factories.ts";
import type { StoreCase } from "../harness.ts";
import {
  assertCommitted,
  type TestSession,
  openTestSession,
  assertSameJson,
} from "../../fixtures/open-session.ts";

const minuteMs = 60_000;

/** Completes a turn and marks it; returns its generation. */
async function completeTurn(chat: TestSession, owner?: Parameters<typeof aMark>[1]): Promise<Seq> {
  const runId = aRunId();
  const { last } = await chat.commit([
    aRunState(runId, "claimed"),
    aSettledMessage(runId),
    aRunState(runId, "completed"),
    aMark(runId, owner),
  ]);
  return last;
}

async function generations({ reads }: Store, chat: TestSession): Promise<Seq[]> {
  const { marks } = await reads.unremembered(chat.owner, chat.session, 100);
  return marks.map((mark) => mark.seq);
}

/** Other cases leave work in the same store, so only these sessions count. */
async function dueSessions(
  store: Store,
  since: number,
  ...chats: TestSession[]
): Promise<string[]> {
  const found = await store.work.unremembered(100_000, since);
  const ours = new Set(chats.map(({ session }) => session));
  return found.map(({ session }) => session).filter((session) => ours.has(session));
}

export const memoryCases: readonly StoreCase[] = [
  {
    title: "a completed turn is marked by its seq for its provider, visible to its owner only",
    async run({ store, open }) {
      const chat = await openTestSession(store);
      const owner = { provider: "facts", configuration: "h1" };
      const seq = await completeTurn(chat, owner);
      const other = await open();
      const { marks, trying } = await other.reads.unremembered(chat.owner, chat.session, 9);
      const [mark] = marks;
      assertSameJson(marks, [
        { session: chat.session, seq, runId: mark?.runId, at: mark?.at, ...owner },
      ]);
      assertSameJson(trying, null);
      const second = await completeTurn(chat);
      assertSameJson(await generations(other, chat), [seq, second]);
      assertSameJson((await other.reads.unremembered(chat.owner, chat.session, 1)).marks, marks);
      const nothing = { marks: [], trying: null };
      assertSameJson(await other.reads.unremembered(anOwner(), chat.session, 9), nothing);
      await other.close();
    },
  },
  {
    title: "a turn is marked once, only in the commit that completes it, and after the completion",
    async run({ store }) {
      const chat = await openTestSession(store);
      const runId = aRunId();
      await chat.commit([aRunState(runId, "claimed"), aSettledMessage(runId)]);
      const completed = () => aRunState(runId, "completed");
      await chat.refuses("invalid_event", [aMark(runId)]);
      await chat.refuses("invalid_event", [aMark(runId), completed()]);
      await chat.refuses("invalid_event", [aRunState(runId, "failed"), aMark(runId)]);
      await chat.refuses("invalid_event", [completed(), aMark(aRunId())]);
      await chat.refuses("invalid_event", [completed(), aMark(runId), aMark(runId)]);
      await chat.commit([completed()]);
      await chat.refuses("invalid_event", [aMark(runId)]);
      assertSameJson(await generations(store, chat), []);
    },
  },
  {
    title: "committing a generation clears the marks up to it and keeps later ones",
    async run({ store }) {
      const chat = await openTestSession(store);
      const [first, second] = [await completeTurn(chat), await completeTurn(chat)];
      await chat.commit([aSegment("tried", second)]);
      const third = await completeTurn(chat);
      const read = () => store.reads.unremembered(chat.owner, chat.session, 9);
      const segment = { session: chat.session, key: "a-key", upTo: second, tries: 1 };
      assertSameJson((await read()).trying, {
        ...segment,
        retryAt: null,
        code: null,
        message: null,
      });
      await chat.commit([aSegment("failed", second, { tries: 2, retryAt: 77 })]);
      const failure = { tries: 2, retryAt: 77, code: "provider_down", message: "It is away." };
      assertSameJson((await read()).trying, { ...segment, ...failure });
      assertSameJson(await generations(store, chat), [first, second, third]);
      await chat.commit([aSegment("committed", second)]);
      assertSameJson(await generations(store, chat), [third]);
      assertSameJson((await read()).trying, null);
      const { head } = await chat.row();
      await chat.refuses("invalid_event", [aSegment("committed", head + 1)]);
      await chat.commit([aSegment("tried", third), aSegment("committed", third)]);
      assertSameJson(await read(), { marks: [], trying: null });
    },
  },
  {
    title: "one group that marks, commits and marks again keeps the last turn",
    async run({ store }) {
      const chat = await openTestSession(store);
      const first = await completeTurn(chat);
      const [runId, { owner, session }] = [aRunId(), chat];
      const ended = [aRunState(runId, "claimed"), aRunState(runId, "completed"), aMark(runId)];
      const [, done, last] = await Promise.all([
        store.commit({ owner, session, events: [aSegment("tried", first)] }),
        store.commit({ owner, session, events: [aSegment("committed", first)] }),
        store.commit({ owner, session, events: ended }),
      ]);
      assertCommitted(done);
      assertSameJson(await generations(store, chat), [assertCommitted(last).last]);
      assertSameJson((await store.reads.unremembered(owner, session, 9)).trying, null);
    },
  },
  {
    title: "memory work is what rests or is due for a retry, oldest first",
    async run({ store, advanceClock }) {
      const [old, young] = [await openTestSession(store), await openTestSession(store)];
      await completeTurn(old);
      await advanceClock(minuteMs);
      const generation = await completeTurn(young);
      const now = await store.now();
      assertSameJson(await dueSessions(store, now, old, young), [old.session, young.session]);
      assertSameJson(await dueSessions(store, now - minuteMs / 2, old, young), [old.session]);
      await young.commit([aSegment("failed", generation, { retryAt: now + 10 * minuteMs })]);
      assertSameJson(await dueSessions(store, now, old, young), [old.session]);
      await advanceClock(11 * minuteMs);
      assertSameJson(
        await dueSessions(store, 0, old, young),
        [young.session],
        "its time has come, resting or not",
      );
      assertSameJson(await store.work.unremembered(0, now), []);
      const later = await completeTurn(old);
      assertSameJson(await dueSessions(store, now, old), [], "somebody speaks there again");
      await old.commit([aSegment("committed", later)]);
      assertSameJson(await dueSessions(store, await store.now(), old), []);
      await advanceClock(-12 * minuteMs);
    },
  },
  {
    title: "a trashed session isn't memory work until it is restored, and a purge ends it",
    async run({ store }) {
      const chat = await openTestSession(store);
      const generation = await completeTurn(chat);
      await chat.commit([aSegment("failed", generation, { retryAt: 1 })]);
      const now = await store.now();
      await chat.commit([anEvent("session.trashed", {})]);
      assertSameJson(await dueSessions(store, now + minuteMs, chat), []);
      const empty = { sessions: 0, turns: 0, oldestAt: null, failing: null };
      assertSameJson(await store.reads.memory(chat.owner), empty);
      await chat.commit([anEvent("session.restored", {})]);
      assertSameJson(await dueSessions(store, now + minuteMs, chat), [chat.session]);
      assertSameJson(await generations(store, chat), [generation]);
      await chat.commit([anEvent("session.trashed", {})]);
      await store.purge(chat.owner, chat.session);
      assertSameJson(await store.reads.unremembered(chat.owner, chat.session, 9), {
        marks: [],
        trying: null,
      });
    },
  },
  {
    title: "the backlog counts an owner's sessions and turns, and shows the failure",
    async run({ store, advanceClock }) {
      const one = await openTestSession(store);
      const two = await openTestSession(store, {}, one.owner);
      const first = await completeTurn(one);
      const { marks } = await store.reads.unremembered(one.owner, one.session, 1);
      await advanceClock(minuteMs);
      await completeTurn(one);
      await completeTurn(two);
      const counted = { sessions: 2, turns: 3, oldestAt: marks[0]?.at };
      assertSameJson(await store.reads.memory(one.owner), { ...counted, failing: null });
      await one.commit([aSegment("failed", first, { tries: 4, retryAt: 123 })]);
      const { failing } = await store.reads.memory(one.owner);
      assertSameJson([failing?.session, failing?.tries, failing?.retryAt], [one.session, 4, 123]);
      assertSameJson((await store.reads.memory(anOwner())).turns, 0);
      await advanceClock(-minuteMs);
    },
  },
];
