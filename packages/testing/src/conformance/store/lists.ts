import type { EventData, OwnerId, SessionId } from "@holdfast/protocol";

import type { ListCursor, ListQuery, Store } from "@holdfast/engine";
import {
  aDelta,
  anEvent,
  anInput,
  anOwner,
  aRunState,
  aSettledMessage,
  aUsage,
  aUserMessage,
} from "../../fixtures/factories.ts";
import type { StoreCase, StoreHarness } from "../harness.ts";
import {
  type TestSession,
  openTestSession,
  assertSameJson,
  readListPage,
} from "../../fixtures/open-session.ts";

type Settings = EventData<"session.created">;

/** Sessions of one owner, each a second younger than the previous one. */
async function someSessions(
  { store, advanceClock }: StoreHarness,
  owner: OwnerId,
  settingsOfEach: readonly Settings[],
): Promise<TestSession[]> {
  const chats: TestSession[] = [];
  for (const settings of settingsOfEach) {
    chats.push(await openTestSession(store, settings, owner));
    await advanceClock(1_000);
  }
  return chats;
}

async function listed(
  store: Store,
  owner: OwnerId,
  query: Partial<ListQuery> = {},
): Promise<SessionId[]> {
  const { sessions } = await readListPage(store, owner, { limit: 100, ...query });
  return sessions.map((row) => row.id);
}

async function walk(store: Store, owner: OwnerId, query: ListQuery): Promise<SessionId[]> {
  const seen: SessionId[] = [];
  let after: ListCursor | null | undefined;
  do {
    const page = await readListPage(store, owner, { ...query, ...(after && { after }) });
    assertSameJson(page.sessions.length <= query.limit, true);
    seen.push(...page.sessions.map((row) => row.id));
    assertSameJson(new Set(seen).size, seen.length, "each session comes once");
    after = page.next;
  } while (after !== null);
  return seen;
}

const idsOf = (chats: readonly TestSession[]) => chats.map((chat) => chat.session);

export const listCases: readonly StoreCase[] = [
  {
    title: "the list is newest first, and its pages contain each session once",
    async run(harness) {
      const { store } = harness;
      const owner = anOwner();
      const chats = await someSessions(
        harness,
        owner,
        Array.from({ length: 7 }, () => ({})),
      );
      const expected = idsOf(chats).toReversed();
      for (const limit of [1, 2, 3, 7, 8])
        assertSameJson(await walk(store, owner, { limit }), expected);
      const exact = await readListPage(store, owner, { limit: 7 });
      assertSameJson(exact.next, null, "a full page that is the last");
      assertSameJson(await readListPage(store, anOwner(), { limit: 5 }), {
        sessions: [],
        next: null,
      });
    },
  },
  {
    title: "sessions of the same moment have a stable order",
    async run({ store }) {
      const owner = anOwner();
      await Promise.all(Array.from({ length: 12 }, () => openTestSession(store, {}, owner)));
      const whole = await readListPage(store, owner, { limit: 100 });
      const positions = whole.sessions.map(({ sortAt, id }) => ({ sortAt, id }));
      assertSameJson(
        positions,
        positions.toSorted((a, b) => b.sortAt - a.sortAt || (a.id < b.id ? 1 : -1)),
      );
      assertSameJson(
        await walk(store, owner, { limit: 5 }),
        positions.map(({ id }) => id),
      );
    },
  },
  {
    title: "active, archived and trashed sessions are on separate shelves",
    async run(harness) {
      const { store } = harness;
      const owner = anOwner();
      const [a, b, c, d] = await someSessions(harness, owner, [{}, {}, {}, { archived: true }]);
      await b!.commit([anEvent("session.changed", { archived: true })]);
      await c!.commit([anEvent("session.trashed", {})]);
      await d!.commit([anEvent("session.trashed", {})]);
      assertSameJson(await listed(store, owner), idsOf([a!]));
      assertSameJson(await listed(store, owner, { shelf: "archived" }), idsOf([b!]));
      assertSameJson(await listed(store, owner, { shelf: "trash" }), idsOf([d!, c!]));
      await b!.commit([anEvent("session.changed", { archived: false })]);
      await d!.commit([anEvent("session.restored", {})]);
      assertSameJson(await listed(store, owner), idsOf([b!, a!]));
      assertSameJson(await listed(store, owner, { shelf: "archived" }), idsOf([d!]));
    },
  },
  {
    title: "a workspace filters the list, alone and with a tag, page by page",
    async run(harness) {
      const { store } = harness;
      const owner = anOwner();
      const [a, b, c, d] = await someSessions(harness, owner, [
        { workspace: "/projects/tides", tags: ["x"] },
        { workspace: "/projects/tides/sub" },
        { workspace: "/projects/tides" },
        {},
      ]);
      const tides = { workspace: "/projects/tides" };
      assertSameJson(await listed(store, owner, tides), idsOf([c!, a!]));
      assertSameJson(await listed(store, owner, { ...tides, tag: "x" }), idsOf([a!]));
      assertSameJson(await walk(store, owner, { ...tides, limit: 1 }), idsOf([c!, a!]));
      assertSameJson(await listed(store, owner, { workspace: "/projects" }), []);
      await d!.commit([anEvent("session.changed", tides)]);
      await c!.commit([anEvent("session.changed", { workspace: null })]);
      await b!.commit([anEvent("session.trashed", {})]);
      assertSameJson(await listed(store, owner, tides), idsOf([d!, a!]));
    },
  },
  {
    title: "pinned, project and tag filter the list, alone and together, on every shelf",
    async run(harness) {
      const { store } = harness;
      const owner = anOwner();
      const [a, b, c] = await someSessions(harness, owner, [
        { pinned: true, project: "p", tags: ["x", "y"] },
        { project: "p", tags: ["y"] },
        { pinned: true, tags: ["x", "xy"] },
      ]);
      assertSameJson(await listed(store, owner, { pinned: true }), idsOf([c!, a!]));
      assertSameJson(await listed(store, owner, { project: "p" }), idsOf([b!, a!]));
      assertSameJson(await listed(store, owner, { tag: "x" }), idsOf([c!, a!]));
      assertSameJson(await listed(store, owner, { tag: "y", project: "p" }), idsOf([b!, a!]));
      assertSameJson(
        await listed(store, owner, { tag: "y", project: "p", pinned: true }),
        idsOf([a!]),
      );
      assertSameJson(await listed(store, owner, { tag: "none" }), []);
      assertSameJson(await walk(store, owner, { tag: "x", limit: 1 }), idsOf([c!, a!]));
      await a!.commit([
        anEvent("session.changed", { tags: ["z"], pinned: false, project: null, archived: true }),
      ]);
      assertSameJson(await listed(store, owner, { tag: "x" }), idsOf([c!]));
      assertSameJson(await listed(store, owner, { project: "p" }), idsOf([b!]));
      assertSameJson(await listed(store, owner, { tag: "z" }), []);
      assertSameJson(await listed(store, owner, { tag: "z", shelf: "archived" }), idsOf([a!]));
      await a!.commit([anEvent("session.trashed", {})]);
      assertSameJson(await listed(store, owner, { tag: "z", shelf: "archived" }), []);
      assertSameJson(await listed(store, owner, { tag: "z", shelf: "trash" }), idsOf([a!]));
    },
  },
  {
    title: "a session that moves up between two pages doesn't hide those that stay",
    async run(harness) {
      const { store } = harness;
      const owner = anOwner();
      const chats = await someSessions(harness, owner, [{}, {}, {}, {}, {}]);
      const first = await readListPage(store, owner, { limit: 2 });
      await chats[0]!.commit([anInput()]);
      const rest = await listed(store, owner, { after: first.next! });
      assertSameJson(rest, idsOf([chats[2]!, chats[1]!]), "what stays below the cursor comes once");
      assertSameJson((await listed(store, owner))[0], chats[0]!.session);
    },
  },
  {
    title: "inputs, messages and ends of runs move a session up, and its row shows them",
    async run({ store, advanceClock }) {
      const owner = anOwner();
      const chat = await openTestSession(store, {}, owner);
      const other = await openTestSession(store, {}, owner);
      const first = async () => (await listed(store, owner))[0];
      await advanceClock(1_000);
      const { runId, under } = await chat.startRun("What is the tide?");
      assertSameJson(await first(), chat.session);
      await advanceClock(1_000);
      await other.commit([anInput({ text: "an input" })]);
      assertSameJson([await first(), (await other.row()).preview], [other.session, "an input"]);
      await advanceClock(1_000);
      await chat.commit([aSettledMessage(runId, "It is\n  high.")], { under });
      const { preview, messageCount, title } = await chat.row();
      assertSameJson([preview, messageCount, title], ["It is high.", 2, "What is the tide?"]);
      await advanceClock(1_000);
      await other.commit([aUserMessage("mine")]);
      await advanceClock(1_000);
      await chat.commit([aRunState(runId, "completed")], { under });
      assertSameJson(await first(), chat.session);
    },
  },
  {
    title: "a checkpoint moves the last activity but not the list",
    async run({ store, advanceClock }) {
      const chat = await openTestSession(store);
      const { runId, under } = await chat.startRun();
      await openTestSession(store, {}, chat.owner);
      const before = await chat.row();
      const order = await listed(store, chat.owner);
      await advanceClock(60_000);
      const { at } = await chat.commit([aDelta(runId), aUsage(runId), aDelta(runId)], { under });
      assertSameJson(await chat.row(), {
        ...before,
        head: before.head + 3,
        activityAt: at,
        openDeltas: 2,
      });
      assertSameJson(at >= before.activityAt + 60_000, true);
      assertSameJson(await listed(store, chat.owner), order);
      const shown = await readListPage(store, chat.owner, { limit: 10 });
      assertSameJson(shown.sessions.find((row) => row.id === chat.session)?.sortAt, before.sortAt);
    },
  },
  {
    title: "a quiet commit moves neither activity nor order, whatever it contains",
    async run({ store, advanceClock }) {
      const chat = await openTestSession(store);
      const { runId, under } = await chat.startRun();
      const { activityAt, sortAt } = await chat.row();
      await advanceClock(60_000);
      const quiet = { under, touch: "quiet" } as const;
      await chat.commit([aDelta(runId), aDelta(runId)], quiet);
      await chat.commit(
        [aSettledMessage(runId, "late", [[5, 6]]), aRunState(runId, "interrupted")],
        quiet,
      );
      await chat.commit([aUserMessage("imported"), anInput()], { touch: "quiet" });
      const row = await chat.row();
      assertSameJson([row.activityAt, row.sortAt], [activityAt, sortAt]);
      assertSameJson([row.messageCount, row.lastState], [3, "interrupted"]);
      assertSameJson(
        (await chat.events()).slice(4).every((event) => event.quiet === true),
        true,
      );
      await chat.commit([aUserMessage("loud")]);
      assertSameJson((await chat.row()).sortAt >= sortAt + 60_000, true);
      assertSameJson((await chat.events()).at(-1)?.quiet, undefined);
    },
  },
  {
    title: "the list shows the sessions' rows, including run and deltas",
    async run({ store }) {
      const chat = await openTestSession(store, { title: "one" });
      const { runId, under } = await chat.startRun();
      await chat.commit([aDelta(runId)], { under, pace: "tick" });
      const { sessions } = await readListPage(store, chat.owner, { limit: 10 });
      assertSameJson(sessions, [await chat.row()]);
      assertSameJson([sessions[0]?.liveRun, sessions[0]?.openDeltas], [runId, 1]);
    },
  },
];
