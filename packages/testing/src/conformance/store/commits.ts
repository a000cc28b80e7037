import { strict as assert } from "node:assert";

import {
  aForeignEvent,
  anEvent,
  anInput,
  aSession,
  toSeq,
  aUserMessage,
} from "../../fixtures/factories.ts";
import type { StoreCase } from "../harness.ts";
import {
  assertCommitted,
  TestSession,
  openTestSession,
  assertSameJson,
  seqsOf,
  textsOf,
} from "../../fixtures/open-session.ts";

export const commitCases: readonly StoreCase[] = [
  {
    title: "a new session can be read back with its first event",
    async run({ store }) {
      const commit = aSession({ title: "Tides", tags: ["sea", "moon", "sea"], pinned: true });
      const result = assertCommitted(await store.commit(commit));
      const chat = new TestSession(store, commit);
      const { title, titleSource, tags, pinned, head, version, revision, ...row } =
        await chat.row();
      assertSameJson(
        { title, titleSource, tags, pinned },
        { title: "Tides", titleSource: "chosen", tags: ["moon", "sea"], pinned: true },
      );
      assertSameJson({ head, version, revision }, { head: 1, version: 0, revision: 1 });
      assertSameJson(row.ranges, [{ from: 1, to: null }]);
      assertSameJson(row.createdAt, result.at);
      assertSameJson(result, {
        status: "committed",
        first: 1,
        last: 1,
        at: result.at,
        version: 0,
        revision: 1,
      });
      assertSameJson(await chat.events(), [{ ...commit.events[0], seq: 1, at: result.at }]);
    },
  },
  {
    title: "events get the seqs after the head, in order and without gaps",
    async run({ store }) {
      const chat = await openTestSession(store);
      const first = await chat.commit([aUserMessage("one"), aUserMessage("two")]);
      const second = await chat.commit([aUserMessage("three")]);
      assertSameJson([first.first, first.last, second.first, second.last], [2, 3, 4, 4]);
      assertSameJson(seqsOf(await chat.events()), [1, 2, 3, 4]);
      assertSameJson(textsOf(await chat.entries()), ["one", "two", "three"]);
      assertSameJson((await chat.row()).head, 4);
    },
  },
  {
    title: "concurrent writers on two handles produce one dense order, without mixing commits",
    async run({ store, open }) {
      const chat = await openTestSession(store);
      const other = await open();
      const writes = Array.from({ length: 40 }, (_, index) => {
        const through = index % 2 === 0 ? chat : chat.through(other);
        return through.commit([aUserMessage(`${index} a`), aUserMessage(`${index} b`)]);
      });
      const results = await Promise.all(writes);
      const events = await chat.events({ after: toSeq(1) });
      assertSameJson(
        seqsOf(events),
        Array.from({ length: 80 }, (_, index) => index + 2),
      );
      for (const [index, { first, last }] of results.entries()) {
        assertSameJson(last, first + 1);
        assertSameJson(textsOf(events.slice(first - 2, last - 1)), [`${index} a`, `${index} b`]);
      }
      assertSameJson((await chat.row()).version, 80);
      await other.close();
    },
  },
  {
    title: "one bad event refuses the whole commit and uses up no seq",
    async run({ store }) {
      const chat = await openTestSession(store);
      const bad = { ...aUserMessage(), data: { messageId: 5 } };
      await chat.refuses("invalid_event", [aUserMessage("first"), bad]);
      assertSameJson(seqsOf(await chat.events()), [1]);
      assertSameJson((await chat.commit([aUserMessage("next")])).first, 2);
    },
  },
  {
    title: "a refused commit doesn't affect the others in its group",
    async run({ store }) {
      const chat = await openTestSession(store);
      const elsewhere = await openTestSession(store);
      const bad = { ...aUserMessage(), data: {} };
      const results = await Promise.all([
        chat.send([aUserMessage("before")]),
        chat.send([bad]),
        elsewhere.send([aUserMessage("elsewhere")]),
        chat.send([aUserMessage("after")]),
      ]);
      assertSameJson(
        results.map((result) => result.status),
        ["committed", "refused", "committed", "committed"],
      );
      assertSameJson(textsOf(await chat.entries()), ["before", "after"]);
      assertSameJson(seqsOf(await chat.events()), [1, 2, 3]);
    },
  },
  {
    title: "the same commit again gets the first answer and writes nothing",
    async run({ store, open, advanceClock }) {
      const chat = await openTestSession(store);
      const events = [aUserMessage("once"), aUserMessage("only")];
      const first = await chat.commit(events);
      const before = await chat.row();
      await advanceClock(5_000);
      assertSameJson(await chat.commit(events), { ...first, repeated: true });
      const other = await open();
      assertSameJson(await chat.through(other).commit(events), { ...first, repeated: true });
      await other.close();
      assertSameJson(await chat.row(), before);
      assertSameJson(seqsOf(await chat.events()), [1, 2, 3]);
    },
  },
  {
    title: "a repeated commit is answered even if its conditions no longer hold",
    async run({ store }) {
      const chat = await openTestSession(store);
      const { fence } = await chat.lease();
      const rest = { under: { lease: "run", fence }, expect: { head: toSeq(1) } } as const;
      const events = [aUserMessage("once")];
      const first = await chat.commit(events, rest);
      await store.leases.release({ kind: "run", session: chat.session, fence });
      await chat.commit([anEvent("session.trashed", {})]);
      const again = await chat.commit(events, rest);
      assertSameJson(
        [again.first, again.last, again.at, again.repeated],
        [first.first, first.last, first.at, true],
      );
    },
  },
  {
    title: "the same commit sent twice at the same moment is written once",
    async run({ store, open }) {
      const chat = await openTestSession(store);
      const other = await open();
      const events = [aUserMessage("once")];
      const results = await Promise.all([chat.commit(events), chat.through(other).commit(events)]);
      assertSameJson(
        results.map(({ first }) => first),
        [2, 2],
      );
      assertSameJson(results.filter(({ repeated }) => repeated === true).length, 1);
      assertSameJson(textsOf(await chat.entries()), ["once"]);
      await other.close();
    },
  },
  {
    title: "creating a session is repeatable, and a second session with that id is refused",
    async run({ store }) {
      const commit = aSession({ title: "first" });
      const first = assertCommitted(await store.commit(commit));
      assertSameJson(await store.commit(commit), { ...first, repeated: true });
      const chat = new TestSession(store, commit);
      await chat.refuses("session_exists", [anEvent("session.created", { title: "second" })]);
    },
  },
  {
    title: "an event of an unknown type and a field of a newer version pass through unchanged",
    async run({ store }) {
      const chat = await openTestSession(store);
      const foreign = aForeignEvent({ nested: { list: [1, null, "x"] } });
      const message = aUserMessage("hello");
      const newer = { ...message, data: { ...message.data, mood: { calm: true } } };
      const { version } = await chat.commit([foreign, newer]);
      const events = await chat.events({ after: toSeq(1) });
      assertSameJson(
        events.map((event) => event.data),
        [foreign.data, newer.data],
      );
      assertSameJson(version, 1, "a foreign event counts as passing");
    },
  },
  {
    title: "an event of a newer version is stored and changes nothing",
    async run({ store }) {
      const chat = await openTestSession(store);
      const future = { ...anEvent("session.changed", { title: "from the future" }), v: 99 };
      await chat.commit([future]);
      assertSameJson((await chat.row()).title, null);
      assertSameJson((await chat.events()).at(-1)?.v, 99);
    },
  },
  {
    title: "entries count in the version, settings in the revision, passing events in neither",
    async run({ store }) {
      const chat = await openTestSession(store);
      const counts = async () => {
        const { version, revision } = await chat.row();
        return [version, revision];
      };
      assertSameJson(await counts(), [0, 1]);
      await chat.commit([aUserMessage()]);
      assertSameJson(await counts(), [1, 1]);
      const changed = await chat.commit([anEvent("session.changed", { pinned: true })]);
      assertSameJson(await counts(), [1, 2]);
      assertSameJson([changed.version, changed.revision], [1, 2]);
      await chat.commit([anInput()]);
      assertSameJson(await counts(), [1, 2]);
    },
  },
  {
    title: "a weaker title never replaces a stronger one",
    async run({ store }) {
      const chat = await openTestSession(store);
      await chat.commit([aUserMessage("derived from this\nnot from this")]);
      assertSameJson((await chat.row()).title, "derived from this");
      const name = (title: string, titleSource: "generated" | "chosen") =>
        chat.commit([anEvent("session.changed", { title, titleSource })]);
      await name("generated", "generated");
      await name("chosen", "chosen");
      await name("generated again", "generated");
      const { title, titleSource } = await chat.row();
      assertSameJson([title, titleSource], ["chosen", "chosen"]);
    },
  },
  {
    title: "after close, writes return a failure and reads reject with one",
    async run({ store, open }) {
      const chat = await openTestSession(store);
      const handle = await open();
      await handle.close();
      const closed = chat.through(handle);
      const result = await closed.send([aUserMessage()]);
      assertSameJson([result.status, "code" in result && result.code], ["failed", "store_closed"]);
      await assert.rejects(closed.row(), { name: "StoreFailure", code: "store_closed" });
      assertSameJson(seqsOf(await chat.events()), [1]);
    },
  },
];
