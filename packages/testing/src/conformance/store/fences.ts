import {
  aDelta,
  toFence,
  aHolder,
  anEvent,
  aRunState,
  aUserMessage,
} from "../../fixtures/factories.ts";
import type { StoreCase } from "../harness.ts";
import { openTestSession, assertSameJson, textsOf } from "../../fixtures/open-session.ts";

const minuteMs = 60_000;

export const fenceCases: readonly StoreCase[] = [
  {
    title: "the holder of a lease writes under its fence",
    async run({ store }) {
      const chat = await openTestSession(store);
      const { fence } = await chat.lease("run");
      await chat.commit([aUserMessage("mine")], { under: { lease: "run", fence } });
      assertSameJson(textsOf(await chat.entries()), ["mine"]);
    },
  },
  {
    title: "a fence that was never issued, or is for another kind, is refused",
    async run({ store }) {
      const chat = await openTestSession(store);
      await chat.refuses("fenced", [aUserMessage()], {
        under: { lease: "run", fence: toFence(1) },
      });
      const { fence } = await chat.lease("run");
      await chat.refuses("fenced", [aUserMessage()], { under: { lease: "compaction", fence } });
      await chat.refuses("fenced", [aUserMessage()], {
        under: { lease: "run", fence: toFence(fence + 1) },
      });
    },
  },
  {
    title: "a fence of one session doesn't write to another",
    async run({ store }) {
      const [a, b] = [await openTestSession(store), await openTestSession(store)];
      const { fence } = await a.lease("run");
      await b.refuses("fenced", [aUserMessage()], { under: { lease: "run", fence } });
    },
  },
  {
    title: "a released fence is refused, even when the same holder takes the lease again",
    async run({ store }) {
      const chat = await openTestSession(store);
      const holder = aHolder();
      const lease = await chat.lease("run", holder);
      const under = { lease: "run", fence: lease.fence } as const;
      await store.leases.release(lease);
      await chat.refuses("fenced", [aUserMessage()], { under });
      await chat.lease("run", holder);
      await chat.refuses("fenced", [aUserMessage()], { under });
    },
  },
  {
    title: "an expired holder can write until another takes over, and is refused from then on",
    async run({ store, open, advanceClock }) {
      const chat = await openTestSession(store);
      const { fence } = await chat.lease("run", aHolder(), minuteMs);
      const under = { lease: "run", fence } as const;
      await advanceClock(2 * minuteMs);
      await chat.commit([aUserMessage("late, and still alone")], { under });
      const other = chat.through(await open());
      const taken = await other.lease("run");
      await chat.refuses("fenced", [aUserMessage("too late")], { under });
      await other.commit([aUserMessage("taken over")], {
        under: { lease: "run", fence: taken.fence },
      });
      assertSameJson(textsOf(await chat.entries()), ["late, and still alone", "taken over"]);
      await other.store.close();
    },
  },
  {
    title: "a takeover stops deltas, settlements and terminal states of the old fence alike",
    async run({ store, advanceClock }) {
      const chat = await openTestSession(store);
      const { runId, under } = await chat.startRun();
      await advanceClock(minuteMs);
      await chat.lease("run");
      await chat.refuses("fenced", [aDelta(runId)], { under, pace: "tick" });
      await chat.refuses("fenced", [aRunState(runId, "completed")], { under });
    },
  },
  {
    title: "trashing ends a fence, and restoring doesn't bring it back",
    async run({ store }) {
      const chat = await openTestSession(store);
      const { runId, under } = await chat.startRun();
      await chat.commit([anEvent("session.trashed", {})]);
      await chat.refuses("session_trashed", [aDelta(runId)], { under });
      await chat.commit([anEvent("session.restored", {})]);
      await chat.refuses("fenced", [aDelta(runId)], { under });
    },
  },
  {
    title: "no write of the old holder follows a concurrent takeover",
    async run({ store, open, advanceClock }) {
      const chat = await openTestSession(store);
      const other = chat.through(await open());
      const { fence } = await chat.lease("run", aHolder(), minuteMs);
      await advanceClock(2 * minuteMs);
      const under = { lease: "run", fence } as const;
      const old = Array.from({ length: 10 }, () => chat.send([aUserMessage("old")], { under }));
      const taken = await other.lease("run");
      await other.commit([aUserMessage("new")], { under: { lease: "run", fence: taken.fence } });
      await Promise.all(old);
      const texts = textsOf(await chat.entries());
      assertSameJson(texts.slice(texts.indexOf("new")), ["new"]);
      await chat.refuses("fenced", [aUserMessage()], { under });
      await other.store.close();
    },
  },
];
