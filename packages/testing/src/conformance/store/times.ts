import {
  aDelta,
  anEvent,
  anInput,
  aSettledMessage,
  aUserMessage,
} from "../../fixtures/factories.ts";
import type { StoreCase } from "../harness.ts";
import { openTestSession, assertSameJson } from "../../fixtures/open-session.ts";

const hourMs = 3_600_000;

/** Resolves when `wake` is called; the runner's timeout ends a wait in vain. */
function nextWake(watch: (wake: () => void) => () => void): {
  woken: Promise<void>;
  stop: () => void;
} {
  const { promise, resolve } = Promise.withResolvers<void>();
  return { woken: promise, stop: watch(resolve) };
}

export const timeCases: readonly StoreCase[] = [
  {
    title: "events get the store's time",
    async run({ store, advanceClock }) {
      const chat = await openTestSession(store);
      await advanceClock(5 * hourMs);
      const before = await store.now();
      const { at } = await chat.commit([aUserMessage()]);
      const after = await store.now();
      assertSameJson(before <= at && at <= after, true, `${before} ${at} ${after}`);
      assertSameJson((await chat.events()).at(-1)?.at, at);
    },
  },
  {
    title: "when the clock steps back, a session's times stay until it has caught up",
    async run({ store, advanceClock }) {
      const chat = await openTestSession(store);
      const { runId, under } = await chat.startRun();
      const { activityAt } = await chat.row();
      await advanceClock(-2 * hourMs);
      const tick = await chat.commit([aDelta(runId)], { under });
      const settled = await chat.commit([aSettledMessage(runId, "text", [[5, 5]])], { under });
      const titled = await chat.commit([anEvent("session.changed", { title: "t" }), anInput()]);
      assertSameJson([tick.at, settled.at, titled.at], [activityAt, activityAt, activityAt]);
      await advanceClock(3 * hourMs);
      const later = await chat.commit([aUserMessage()]);
      assertSameJson(later.at > activityAt, true);
      const times = (await chat.events()).map((event) => event.at);
      assertSameJson(
        times,
        times.toSorted((a, b) => a - b),
      );
    },
  },
  {
    title: "a session created after the clock stepped back has its own times",
    async run({ store, advanceClock }) {
      const older = await openTestSession(store);
      await advanceClock(-2 * hourMs);
      const chat = await openTestSession(store, {}, older.owner);
      assertSameJson((await chat.row()).createdAt < (await older.row()).createdAt, true);
      const { sessions } = await store.reads.sessions(older.owner, { limit: 5 });
      assertSameJson(
        sessions.map((row) => row.id),
        [older.session, chat.session],
      );
    },
  },
  {
    title: "a watcher is woken by commits of its own handle and of another",
    async run({ store, open }) {
      const chat = await openTestSession(store);
      const other = await open();
      for (const pace of ["live", "calm"] as const) {
        for (const writer of [store, other]) {
          const { woken, stop } = nextWake((wake) => store.watch(chat.session, pace, wake));
          await chat.through(writer).commit([aUserMessage()]);
          await woken;
          stop();
        }
      }
      await other.close();
    },
  },
  {
    title: "another handle's commit wakes a watcher even while its own handle writes non-stop",
    async run({ store, open }) {
      const [chat, busy] = [await openTestSession(store), await openTestSession(store)];
      const other = await open();
      for (const pace of ["live", "calm", "live"] as const) {
        const { woken, stop } = nextWake((wake) => store.watch(chat.session, pace, wake));
        const over = new AbortController();
        const write = async (): Promise<void> => {
          while (!over.signal.aborted) await busy.commit([aUserMessage()]);
        };
        const writing = write();
        await chat.through(other).commit([aUserMessage()]);
        await woken;
        over.abort();
        await writing;
        stop();
      }
      await other.close();
    },
  },
  {
    title: "deltas wake a watcher too, and nothing does after it stopped",
    async run({ store }) {
      const chat = await openTestSession(store);
      const { runId, under } = await chat.startRun();
      let calls = 0;
      const stopCounting = store.watch(chat.session, "live", () => void (calls += 1));
      const first = nextWake((wake) => store.watch(chat.session, "live", wake));
      await chat.commit([aDelta(runId)], { under, pace: "tick" });
      await first.woken;
      first.stop();
      stopCounting();
      stopCounting();
      const counted = calls;
      const second = nextWake((wake) => store.watch(chat.session, "live", wake));
      await chat.commit([aDelta(runId)], { under, pace: "tick" });
      await second.woken;
      second.stop();
      assertSameJson(calls, counted);
    },
  },
];
