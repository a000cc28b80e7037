import {
  aCut,
  anEvent,
  aRange,
  aSettledMessage,
  aRunId,
  toSeq,
  aUserMessage,
} from "../../fixtures/factories.ts";
import type { StoreCase } from "../harness.ts";
import {
  type TestSession,
  openTestSession,
  assertPresent,
  assertSameJson,
  seqsOf,
  textsOf,
} from "../../fixtures/open-session.ts";
import type { Commit } from "@holdfast/engine";
import { ids, type SeqRange } from "@holdfast/protocol";

/** A session that continues from `seq` of another, and reads these ranges from other logs. */
function branchOf(origin: TestSession, seq: number, reads: SeqRange[]): Promise<TestSession> {
  const ranges = [...reads, aRange(seq + 1)];
  const settings = { origin: { sessionId: origin.session, seq: toSeq(seq) }, ranges };
  return openTestSession(origin.store, settings, origin.owner);
}

type Origin = Pick<TestSession, "store" | "owner" | "session">;

function branchCommit({ owner, session }: Origin, seq: number): Commit {
  const ranges = [aRange(1, seq, session), aRange(seq + 1)];
  const origin = { sessionId: session, seq: toSeq(seq) };
  const created = anEvent("session.created", { origin, ranges });
  return { owner, session: ids.make("session"), events: [created] };
}

/** The code of the refusal. Nothing may be written. */
async function refusedBranch(origin: Origin, seq: number): Promise<string> {
  const commit = branchCommit(origin, seq);
  const result = await origin.store.commit(commit);
  assertSameJson(await origin.store.reads.session(commit.owner, commit.session), null);
  return result.status === "refused" ? result.code : result.status;
}

async function say(chat: TestSession, ...texts: string[]): Promise<void> {
  for (const text of texts) await chat.commit([aUserMessage(text)]);
}

async function trashAndPurge(chat: TestSession): Promise<void> {
  await chat.commit([anEvent("session.trashed", {})]);
  const result = await chat.store.purge(chat.owner, chat.session);
  assertSameJson(result.status, "purged");
  assertSameJson(await chat.store.reads.session(chat.owner, chat.session), null);
  assertSameJson(
    await chat.store.reads.events(chat.owner, chat.session, { after: toSeq(0), limit: 1 }),
    null,
  );
}

export const branchCases: readonly StoreCase[] = [
  {
    title: "a cut entry is hidden but still in the log, and visible again when restored",
    async run({ store }) {
      const chat = await openTestSession(store);
      await say(chat, "one", "two", "three");
      const { last } = await chat.commit([
        aCut([aRange(1, 2), aRange(5)], { messageCount: 1, preview: "one" }),
      ]);
      await say(chat, "other");
      assertSameJson(textsOf(await chat.entries()), ["one", "history.cut", "other"]);
      assertSameJson(seqsOf(await chat.events()), [1, 2, 3, 4, last, 6]);
      const { ranges, messageCount, preview, version } = await chat.row();
      assertSameJson(
        [ranges, messageCount, preview, version],
        [[aRange(1, 2), aRange(5)], 2, "other", 5],
      );
      const back = anEvent("history.restored", {
        ranges: [aRange(1)],
        messageCount: 4,
        preview: "three",
      });
      await chat.commit([back]);
      assertSameJson(textsOf(await chat.entries()).slice(0, 3), ["one", "two", "three"]);
    },
  },
  {
    title: "pages of entries run across the visible ranges",
    async run({ store }) {
      const chat = await openTestSession(store);
      await say(chat, "2", "3", "4", "5", "6", "7");
      await chat.commit([aCut([aRange(2, 3), aRange(6, 6), aRange(9)])]);
      await say(chat, "9");
      const page = async (before?: number) => {
        const query = { limit: 2, ...(before !== undefined && { before: toSeq(before) }) };
        const { entries, more } = assertPresent(
          await store.reads.entries(chat.owner, chat.session, query),
        );
        return [seqsOf(entries), more];
      };
      assertSameJson(await page(), [[6, 9], true]);
      assertSameJson(await page(6), [[2, 3], false]);
      assertSameJson(await page(5), [[2, 3], false], "a number that is out of sight");
    },
  },
  {
    title: "nothing is visible after everything was cut, except what follows",
    async run({ store }) {
      const chat = await openTestSession(store);
      await say(chat, "one");
      await chat.commit([aCut([aRange(4)])]);
      assertSameJson(await chat.entries(), []);
      await say(chat, "two");
      assertSameJson(textsOf(await chat.entries()), ["two"]);
    },
  },
  {
    title: "a branch shows nothing of another owner's log, whatever its ranges name",
    async run({ store }) {
      const [origin, foreign] = [await openTestSession(store), await openTestSession(store)];
      await say(origin, "mine");
      await say(foreign, "theirs");
      const branch = await branchOf(origin, 2, [aRange(1, 2, foreign.session)]);
      assertSameJson(await branch.entries(), []);
    },
  },
  {
    title: "a branch continues from its origin's seq and reads what is below from there",
    async run({ store }) {
      const origin = await openTestSession(store);
      await say(origin, "one", "two", "three");
      const branch = await branchOf(origin, 3, [aRange(1, 3, origin.session)]);
      assertSameJson((await branch.row()).head, 4);
      assertSameJson((await branch.row()).origin, { sessionId: origin.session, seq: 3 });
      await say(branch, "other");
      await say(origin, "four");
      assertSameJson(textsOf(await branch.entries()), ["one", "two", "other"]);
      assertSameJson(seqsOf(await branch.entries()), [2, 3, 5]);
      assertSameJson(textsOf(await origin.entries()), ["one", "two", "three", "four"]);
      assertSameJson(seqsOf(await branch.events()), [4, 5], "its own log begins where it left");
      const page = await branch.snapshot({ limit: 2 });
      assertSameJson([textsOf(page.entries.entries), page.entries.more], [["two", "other"], true]);
    },
  },
  {
    title: "a branch keeps what it reads of a purged origin, even what it restores later",
    async run({ store }) {
      const origin = await openTestSession(store);
      await say(origin, "one", "two", "three");
      const branch = await branchOf(origin, 3, [aRange(1, 3, origin.session)]);
      await say(branch, "other");
      await branch.commit([aCut([aRange(2, 2, origin.session), aRange(7)])]);
      await trashAndPurge(origin);
      assertSameJson(textsOf(await branch.entries()), ["one"]);
      const ranges = [aRange(1, 3, origin.session), aRange(4)];
      await branch.commit([anEvent("history.restored", { ranges, messageCount: 3, preview: "" })]);
      assertSameJson(textsOf(await branch.entries()).slice(0, 3), ["one", "two", "other"]);
      await store.prune(1_000);
      assertSameJson((await branch.entries()).length, 5);
    },
  },
  {
    title: "a branch of a branch keeps its messages when both origins are purged, in either order",
    async run({ store }) {
      for (const order of ["oldest first", "newest first"]) {
        const a = await openTestSession(store);
        await say(a, "a");
        const b = await branchOf(a, 2, [aRange(1, 2, a.session)]);
        await say(b, "b");
        const c = await branchOf(b, 4, [aRange(1, 2, a.session), aRange(3, 4, b.session)]);
        await say(c, "c");
        for (const origin of order === "oldest first" ? [a, b] : [b, a])
          await trashAndPurge(origin);
        assertSameJson(textsOf(await c.entries()), ["a", "b", "c"], order);
      }
    },
  },
  {
    title: "a branch off a session that is purged, unknown or somebody else's is refused",
    async run({ store }) {
      const origin = await openTestSession(store);
      await say(origin, "one");
      const foreign = await openTestSession(store);
      await say(foreign, "one");
      const tooFar = await refusedBranch(origin, 99);
      assertSameJson(tooFar, "invalid_event", "beyond its newest event");
      await trashAndPurge(origin);
      assertSameJson(await refusedBranch(origin, 2), "session_not_found", "purged");
      const { owner } = origin;
      const unknown = { store, owner, session: ids.make("session") };
      assertSameJson(await refusedBranch(unknown, 2), "session_not_found", "unknown");
      const stolen = { store, owner, session: foreign.session };
      assertSameJson(await refusedBranch(stolen, 2), "session_not_found", "somebody else's");
    },
  },
  {
    title: "a branch that was made is found again after its origin was purged",
    async run({ store }) {
      const origin = await openTestSession(store);
      await say(origin, "one");
      const commit = branchCommit(origin, 2);
      const first = await store.commit(commit);
      assertSameJson(first.status, "committed");
      await trashAndPurge(origin);
      assertSameJson(await store.commit(commit), { ...first, repeated: true });
    },
  },
  {
    title: "purging the last branch deletes the logs that only it read",
    async run({ store }) {
      const origin = await openTestSession(store);
      await say(origin, "one", "two");
      const branch = await branchOf(origin, 2, [aRange(1, 2, origin.session)]);
      await trashAndPurge(origin);
      await branch.commit([anEvent("session.trashed", {})]);
      await store.purge(branch.owner, branch.session);
      await store.prune(1_000);
      for (const { session } of [origin, branch]) {
        for await (const row of store.audit.events(session)) assertSameJson(row, "nothing");
      }
    },
  },
  {
    title: "an origin's cuts don't affect its branches",
    async run({ store }) {
      const origin = await openTestSession(store);
      await say(origin, "one");
      await origin.commit([aSettledMessage(aRunId(), "two")]);
      const branch = await branchOf(origin, 3, [aRange(1, 3, origin.session)]);
      await origin.commit([aCut([])]);
      await origin.commit([anEvent("session.trashed", {})]);
      assertSameJson(textsOf(await branch.entries()), ["one", "two"]);
    },
  },
];
