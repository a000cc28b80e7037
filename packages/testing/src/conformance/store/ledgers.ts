import type { UsageGroup, UsageGroupQuery } from "@holdfast/engine";
import { laneKey, type RunId, runId } from "@holdfast/protocol";
import { anEvent, aLane, anInput, aRunId, aUsage } from "../../fixtures/factories.ts";
import type { StoreCase } from "../harness.ts";
import { openTestSession, assertSameJson } from "../../fixtures/open-session.ts";

export const ledgerCases: readonly StoreCase[] = [
  {
    title: "a lane points to the session that was bound last",
    async run({ store, open }) {
      const [a, lane] = [await openTestSession(store), aLane()];
      const b = await openTestSession(store, {}, a.owner);
      assertSameJson(await store.reads.lane(a.owner, lane), null);
      await a.commit([anEvent("lane.bound", { lane })]);
      assertSameJson(await store.reads.lane(a.owner, lane), a.session);
      const other = await open();
      await b.through(other).commit([anEvent("lane.bound", { lane })]);
      assertSameJson(await store.reads.lane(a.owner, lane), b.session);
      await a.commit([anEvent("lane.bound", { lane })]);
      assertSameJson(await other.reads.lane(a.owner, lane), a.session);
      await other.close();
    },
  },
  {
    title: "a clock that stepped back doesn't keep a lane from moving",
    async run({ store, advanceClock }) {
      const [a, lane] = [await openTestSession(store), aLane()];
      const b = await openTestSession(store, {}, a.owner);
      await a.commit([anEvent("lane.bound", { lane })]);
      await advanceClock(-3_600_000);
      await b.commit([anEvent("lane.bound", { lane })]);
      assertSameJson(await store.reads.lane(a.owner, lane), b.session);
    },
  },
  {
    title: "several lanes may point to one session, and a session is created with its lane",
    async run({ store }) {
      const [one, two] = [aLane(), aLane()];
      const chat = await openTestSession(store);
      await chat.commit([
        anEvent("lane.bound", { lane: one }),
        anEvent("lane.bound", { lane: two }),
      ]);
      assertSameJson(
        [await store.reads.lane(chat.owner, one), await store.reads.lane(chat.owner, two)],
        [chat.session, chat.session],
      );
    },
  },
  {
    title: "usage adds up by owner, session, run and time",
    async run({ store, advanceClock }) {
      const a = await openTestSession(store);
      const b = await openTestSession(store, {}, a.owner);
      const [one, two] = [aRunId(), aRunId()];
      await a.commit([
        aUsage(one, { input: 100, output: 10, cacheRead: 5, cacheWrite: 3, costMicros: 70 }),
      ]);
      await a.commit([aUsage(one), aUsage(two)]);
      await advanceClock(60_000);
      const { at: since } = await b.commit([aUsage(undefined, { costMicros: 1 })]);
      const used = async (query: Parameters<typeof store.reads.usage>[1]) => {
        const total = await store.reads.usage(a.owner, query);
        return [
          total.input,
          total.output,
          total.cacheRead,
          total.cacheWrite,
          total.costMicros,
          total.calls,
        ];
      };
      assertSameJson(await used({}), [130, 25, 5, 3, 71, 4]);
      assertSameJson(await used({ session: a.session }), [120, 20, 5, 3, 70, 3]);
      assertSameJson(await used({ runId: one }), [110, 15, 5, 3, 70, 2]);
      assertSameJson(await used({ session: a.session, runId: two }), [10, 5, 0, 0, 0, 1]);
      assertSameJson(await used({ since }), [10, 5, 0, 0, 1, 1], "inclusive");
      assertSameJson(await used({ since: since + 1 }), [0, 0, 0, 0, 0, 0]);
    },
  },
  {
    title: "usage adds up by day, model, session and sender, within a time",
    async run({ store, advanceClock }) {
      const a = await openTestSession(store);
      const b = await openTestSession(store, {}, a.owner);
      const other = await openTestSession(store);
      const sent = async (chat: typeof a, clientId: string) => {
        const input = anInput({ clientId });
        await chat.commit([input]);
        return runId.parse(input.data["runId"]);
      };
      const [first, second, own] = [
        await sent(a, "timer:one:2026"),
        await sent(b, "timer:two:2026"),
        await sent(b, "mine"),
      ];
      const { at: from } = await a.commit([
        aUsage(first, { input: 100, output: 10, cacheRead: 60, cacheWrite: 70, costMicros: 7 }),
      ]);
      await b.commit([aUsage(second, { model: "large", costMicros: 90 }), aUsage(own)]);
      await other.commit([aUsage(undefined, { costMicros: 1_000 })]);
      await advanceClock(60_000);
      const { at: later } = await a.commit([aUsage(first, { model: "large", costMicros: 5 })]);
      const short = (groups: readonly UsageGroup[]) =>
        groups.map((group) => [
          group.key,
          group.sent,
          group.cacheRead,
          group.costMicros,
          group.calls,
        ]);
      const grouped = async (query: UsageGroupQuery) =>
        short(await store.reads.usageGroups(a.owner, query));
      const all = { within: { from, to: later + 1 }, limit: 10 };
      assertSameJson(await grouped({ by: "model", ...all }), [
        ["large", 20, 0, 95, 2],
        ["rehearsal", 140, 60, 7, 2],
      ]);
      assertSameJson(await grouped({ by: "session", ...all }), [
        [b.session, 20, 0, 90, 2],
        [a.session, 140, 60, 12, 2],
      ]);
      assertSameJson(await grouped({ by: "client", prefix: "timer:", ...all }), [
        ["two", 10, 0, 90, 1],
        ["one", 140, 60, 12, 2],
      ]);
      assertSameJson(await grouped({ by: "model", within: all.within, limit: 1 }), [
        ["large", 20, 0, 95, 2],
      ]);
      const early = { within: { from, to: later }, limit: 10 };
      assertSameJson(await grouped({ by: "session", ...early }), [
        [b.session, 20, 0, 90, 2],
        [a.session, 130, 60, 7, 1],
      ]);
      assertSameJson(await grouped({ by: "client", prefix: "timer:", ...early }), [
        ["two", 10, 0, 90, 1],
        ["one", 130, 60, 7, 1],
      ]);
      const days = [
        { from: from - 10, to: from },
        { from, to: later },
        { from: later, to: later + 10 },
      ];
      assertSameJson(await grouped({ by: "day", days }), [
        ["1", 150, 60, 97, 3],
        ["2", 10, 0, 5, 1],
      ]);
    },
  },
  {
    title: "usage of a session counts what was delegated from it, at any depth",
    async run({ store }) {
      const root = await openTestSession(store);
      const [child, grandchild, sibling] = [
        await openTestSession(store, {}, root.owner),
        await openTestSession(store, {}, root.owner),
        await openTestSession(store, {}, root.owner),
      ];
      const under = (session: string, n: number) => `handed:${session}:run_${n}:call_${n}`;
      await child.commit([anEvent("lane.bound", { lane: laneKey.parse(under(root.session, 1)) })]);
      await grandchild.commit([
        anEvent("lane.bound", { lane: laneKey.parse(under(child.session, 2)) }),
      ]);
      // Another prefix, and a session whose id begins with this one's, are somebody else's.
      await sibling.commit([
        anEvent("lane.bound", { lane: laneKey.parse(`other:${root.session}:run_1:call_1`) }),
        anEvent("lane.bound", { lane: laneKey.parse(under(`${root.session}0`, 1)) }),
      ]);
      await root.commit([
        aUsage(aRunId(), { costMicros: 1 }),
        aUsage(undefined, { costMicros: 2 }),
      ]);
      await child.commit([aUsage(aRunId(), { costMicros: 10 })]);
      await grandchild.commit([aUsage(undefined, { costMicros: 100 })]);
      await sibling.commit([aUsage(aRunId(), { costMicros: 1_000 })]);
      const cost = async (session: typeof root.session, childLanes = "handed:") =>
        (await store.reads.usageOfWork(root.owner, { session, childLanes })).costMicros;
      assertSameJson(
        [await cost(root.session), await cost(child.session), await cost(grandchild.session)],
        [113, 110, 100],
      );
      assertSameJson(await cost(root.session, "none:"), 3);
      const stranger = await openTestSession(store);
      const query = { session: root.session, childLanes: "handed:" };
      assertSameJson((await store.reads.usageOfWork(stranger.owner, query)).calls, 0);
    },
  },
  {
    title: "usage of a sender counts runs that continued theirs, and what was delegated from them",
    async run({ store, advanceClock }) {
      const chat = await openTestSession(store);
      const send = async (to: typeof chat, clientId: string, continues?: RunId) => {
        const input = anInput({ clientId, ...(continues !== undefined && { continues }) });
        await to.commit([input]);
        return runId.parse(input.data["runId"]);
      };
      const mine = await send(chat, "mine");
      const timed = await send(chat, "timer:one:2026");
      const other = await send(chat, "timer:one-more:2026");
      const continuing = await send(chat, "again", timed);
      const child = await openTestSession(store, {}, chat.owner);
      const bind = (lane: string) => anEvent("lane.bound", { lane: laneKey.parse(lane) });
      await child.commit([bind(`handed:${chat.session}:${continuing}:call_7`)]);
      const task = await send(child, "call_7");
      const later = await send(child, "later");
      const own = await openTestSession(store, {}, chat.owner);
      const first = await send(own, "timer:one:2027");
      const senders = [timed, continuing, task, aRunId()].map((run) =>
        store.reads.senderOf(chat.owner, run),
      );
      const named = ["timer:one:2026", "timer:one:2026", "call_7", null];
      assertSameJson(await Promise.all(senders), named);
      const { owner: stranger } = await openTestSession(store);
      assertSameJson(await store.reads.senderOf(stranger, timed), null);
      const spend = (to: typeof chat, run: typeof mine | undefined, costMicros: number) =>
        to.commit([aUsage(run, { costMicros })]);
      const { at: since } = await spend(chat, timed, 1);
      await spend(chat, mine, 100_000);
      await spend(chat, other, 200_000);
      // What was spent beside runs in a conversation that somebody else began is theirs.
      await spend(chat, undefined, 400_000);
      await spend(chat, continuing, 2);
      await spend(child, task, 10);
      await spend(child, undefined, 20);
      await spend(child, later, 800_000);
      await spend(own, first, 100);
      await spend(own, undefined, 200);
      const query = { clientPrefix: "timer:one:", childLanes: "handed:" };
      const cost = async (after?: number) =>
        (
          await store.reads.usageOfWork(chat.owner, {
            ...query,
            ...(after !== undefined && { since: after }),
          })
        ).costMicros;
      assertSameJson([await cost(), await cost(since)], [333, 333]);
      await advanceClock(60_000);
      const { at } = await spend(chat, timed, 5);
      assertSameJson([await cost(), await cost(at)], [338, 5]);
      assertSameJson(await cost(at + 1), 0);
    },
  },
  {
    title: "usage adds up by rights profile, also where several apply",
    async run({ store }) {
      const chat = await openTestSession(store);
      const spent = (profile: string | undefined, costMicros: number) =>
        aUsage(undefined, { costMicros, ...(profile !== undefined && { profile }) });
      await chat.commit([spent(undefined, 1), spent("ci", 10), spent("ci+group", 100)]);
      await chat.commit([spent("group", 1_000), spent("ci-two", 10_000)]);
      const costs = async (profile: string) =>
        (await store.reads.usage(chat.owner, { profile })).costMicros;
      assertSameJson([await costs("ci"), await costs("group"), await costs("c")], [110, 1_100, 0]);
      assertSameJson((await store.reads.usage(chat.owner, {})).costMicros, 11_111);
    },
  },
  {
    title: "usage that is sent twice counts once, and sums stay exact",
    async run({ store }) {
      const chat = await openTestSession(store);
      const large = aUsage(undefined, { costMicros: 4_503_599_627_370_495 });
      await chat.commit([large]);
      await chat.commit([large]);
      await chat.commit([aUsage(undefined, { costMicros: 1 })]);
      assertSameJson((await store.reads.usage(chat.owner, {})).costMicros, 4_503_599_627_370_496);
    },
  },
];
