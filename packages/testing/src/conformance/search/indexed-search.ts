import { strict as assert } from "node:assert";
import type { SearchHit, SearchQuery } from "@holdfast/engine";
import {
  anEvent,
  aNotice,
  anOwner,
  aRunId,
  aSettledMessage,
  aToolMessage,
  aUserMessage,
  anInput,
} from "../../fixtures/factories.ts";
import type { StoreCase } from "../harness.ts";
import { type TestSession, openTestSession, assertSameJson } from "../../fixtures/open-session.ts";

/** All hits of a query, page by page, once the index is up to date. */
async function searchAll(
  { store, owner }: Pick<TestSession, "store" | "owner">,
  query: Partial<SearchQuery> & { readonly text: string },
): Promise<SearchHit[]> {
  await store.search.settled();
  const hits: SearchHit[] = [];
  let cursor: string | undefined;
  for (;;) {
    const request = { limit: 10, ...query, ...(cursor !== undefined && { cursor }) };
    const page = await store.search.search(owner, request);
    assert.equal(page.status, "ok", JSON.stringify(page));
    assert.ok(page.hits.length <= request.limit, "no page is longer than asked for");
    hits.push(...page.hits);
    if (page.next === null) return hits;
    cursor = page.next;
  }
}

async function seqsFound(
  chat: TestSession,
  text: string,
  query: Partial<SearchQuery> = {},
): Promise<number[]> {
  const hits = await searchAll(chat, { text, ...query });
  return hits.filter((hit) => hit.role !== "title").map((hit) => hit.seq);
}

/** A session with a title that no case searches for. */
function sessionWithUnrelatedTitle(
  store: TestSession["store"],
  owner = anOwner(),
): Promise<TestSession> {
  return openTestSession(store, { title: "zzz" }, owner);
}

async function addMessages(chat: TestSession, ...texts: readonly string[]): Promise<void> {
  for (const text of texts) await chat.commit([aUserMessage(text)]);
}

/** The rules for a search whose index trails the log. */
export const indexedSearchCases: readonly StoreCase[] = [
  {
    title: "words, parts of words, phrases, prefixes and CJK are found, and nothing else",
    async run({ store }) {
      const chat = await sessionWithUnrelatedTitle(store);
      await addMessages(chat, ...searchLines);
      for (const [text, expected] of expectedFinds) {
        assertSameJson(
          await seqsFound(chat, text),
          expected.map((line) => line + 2),
          text,
        );
      }
    },
  },
  {
    title: "a snippet is plain text, and its highlights are exactly the matches",
    async run({ store }) {
      const chat = await sessionWithUnrelatedTitle(store);
      const filler = "ipsum dolor sit ".repeat(40);
      await addMessages(
        chat,
        `${filler}\n\n\0the Crème\n of the Sea ${filler}`,
        "大阪から東京へ、東京から京都へ",
      );
      const parts = async (text: string): Promise<string[]> => {
        const [hit] = await searchAll(chat, { text });
        assert.ok(hit !== undefined && hit.snippet.length < 400, text);
        return hit.highlights.map(([from, to]) => hit.snippet.slice(from, to));
      };
      assertSameJson(await parts("creme"), ["Crème"]);
      assertSameJson(await parts('"creme of the"'), ["Crème of the"]);
      assertSameJson(await parts("rèm sea"), ["rèm", "Sea"]);
      assertSameJson(await parts("東京"), ["東京", "東京"]);
    },
  },
  {
    title: "every text has its role and can be filtered by it",
    async run({ store }) {
      const chat = await openTestSession(store, { title: "kelp" });
      const run = aRunId();
      await chat.commit([aUserMessage("kelp"), aSettledMessage(run, "kelp")]);
      await chat.commit([aToolMessage(run, "kelp"), aNotice("kelp")]);
      const hits = await searchAll(chat, { text: "kelp" });
      assertSameJson(hits.map((hit) => hit.role).toSorted(), [
        "assistant",
        "notice",
        "title",
        "tool",
        "user",
      ]);
      for (const { role, seq } of hits) {
        const [hit, ...more] = await searchAll(chat, { text: "kelp", role });
        assertSameJson(
          [hit?.role, hit?.seq, hit?.session, hit?.title, more],
          [role, seq, chat.session, "kelp", []],
        );
      }
    },
  },
  {
    title: "a session is found by its current title, whether given, derived or chosen",
    async run({ store }) {
      const given = await openTestSession(store, { title: "Plankton nets" });
      const titles = async (text: string): Promise<string[]> =>
        (await searchAll(given, { text, role: "title" })).map((hit) => hit.session);
      assertSameJson(await titles("plankt"), [given.session]);
      const derived = await openTestSession(store, {}, given.owner);
      await derived.commit([anInput({ text: "About mussels" })]);
      await addMessages(derived, "About mussels");
      assertSameJson(await titles("mussels"), [derived.session]);
      await derived.commit([anEvent("session.changed", { title: "About oysters" })]);
      assertSameJson([await titles("mussels"), await titles("oysters")], [[], [derived.session]]);
      await derived.commit([anEvent("session.changed", { title: "More oysters" })]);
      assertSameJson(
        await titles("oysters"),
        [derived.session],
        "once, not for each title that it had",
      );
    },
  },
  {
    title: "no query finds another owner's messages",
    async run({ store }) {
      const mine = await openTestSession(store, { title: "Secret barnacle" });
      await addMessages(mine, "a barnacle");
      const otherOwners = await sessionWithUnrelatedTitle(store);
      for (const query of [{}, { session: mine.session }, { role: "title" as const }]) {
        assertSameJson(await searchAll(otherOwners, { text: "barnacle", ...query }), []);
      }
      assertSameJson((await searchAll(mine, { text: "barnacle" })).length, 2);
    },
  },
  {
    title: "pages run from newest to oldest, each hit once, even while more is written",
    async run({ store }) {
      const chat = await sessionWithUnrelatedTitle(store);
      for (let count = 0; count < 25; count += 1)
        await addMessages(chat, `herring number ${count}`);
      const all = await seqsFound(chat, "herring", { limit: 100 });
      assertSameJson(
        all,
        Array.from({ length: 25 }, (_, index) => 26 - index),
      );
      assertSameJson(await seqsFound(chat, "herring", { limit: 7 }), all);
      assertSameJson(await seqsFound(chat, "herring", { limit: 1 }), all);
      const first = await store.search.search(chat.owner, { text: "herring", limit: 5 });
      assert.ok(first.status === "ok" && first.next !== null);
      await addMessages(chat, "another herring");
      const rest = await seqsFound(chat, "herring", { cursor: first.next, limit: 50 });
      assertSameJson(rest, all.slice(5));
    },
  },
  {
    title: "a search can be limited to a session and to a time range, both ends included",
    async run({ store, advanceClock }) {
      const chat = await sessionWithUnrelatedTitle(store);
      const other = await sessionWithUnrelatedTitle(store, chat.owner);
      const timestamps: number[] = [];
      for (const session of [chat, other, chat]) {
        timestamps.push((await session.commit([aUserMessage("a squid")])).at);
        await advanceClock(60_000);
      }
      const [first = 0, second = 0, third = 0] = timestamps;
      const count = async (query: Partial<SearchQuery>): Promise<number> =>
        (await searchAll(chat, { text: "squid", ...query })).length;
      assertSameJson(await count({}), 3);
      assertSameJson(await count({ session: chat.session }), 2);
      assertSameJson(await count({ since: second }), 2);
      assertSameJson(await count({ until: second }), 2);
      assertSameJson(await count({ since: second, until: second }), 1);
      assertSameJson(await count({ since: third + 1 }), 0);
      assertSameJson(await count({ session: chat.session, since: first, until: second }), 1);
    },
  },
  {
    title: "a trashed session isn't found, a restored one is, and a purged one never is",
    async run({ store }) {
      const chat = await openTestSession(store, { title: "An urchin" });
      await addMessages(chat, "an urchin");
      assertSameJson((await searchAll(chat, { text: "urchin" })).length, 2);
      await chat.commit([anEvent("session.trashed", {})]);
      assertSameJson(await searchAll(chat, { text: "urchin" }), []);
      await chat.commit([anEvent("session.restored", {})]);
      assertSameJson((await searchAll(chat, { text: "urchin" })).length, 2);
      await chat.commit([anEvent("session.trashed", {})]);
      assertSameJson((await store.purge(chat.owner, chat.session)).status, "purged");
      assertSameJson(await searchAll(chat, { text: "urchin" }), []);
    },
  },
  {
    title: "every text is a valid query",
    async run({ store }) {
      const chat = await sessionWithUnrelatedTitle(store);
      await addMessages(chat, ...searchLines);
      await store.search.settled();
      for (const text of hostileQueries) {
        const result = await store.search.search(chat.owner, { text, limit: 3 });
        assert.equal(result.status, "ok", `${text.slice(0, 40)}: ${JSON.stringify(result)}`);
      }
      const hostile = { text: "tide", limit: 3, cursor: "'; --" };
      assertSameJson((await store.search.search(chat.owner, hostile)).status, "ok");
      assertSameJson(await seqsFound(chat, "tide"), [6, 2], "the index has taken no harm");
    },
  },
  {
    title: "a rebuilt index finds the same, and what was written meanwhile",
    async run({ store }) {
      const chat = await sessionWithUnrelatedTitle(store);
      await addMessages(chat, "a cuttlefish");
      await store.search.settled();
      const rebuilt = store.search.rebuild();
      await addMessages(chat, "more cuttlefish");
      await rebuilt;
      assertSameJson(await seqsFound(chat, "cuttlefish"), [3, 2]);
    },
  },
  {
    title: "a second handle finds what the first has written",
    async run({ store, open }) {
      const chat = await sessionWithUnrelatedTitle(store);
      await addMessages(chat, "a whelk");
      const second = await open();
      try {
        assertSameJson(await seqsFound(chat.through(second), "whelk"), [2]);
        await addMessages(chat.through(second), "two whelks");
        assertSameJson(await seqsFound(chat, "whelk"), [3, 2]);
      } finally {
        await second.close();
      }
    },
  },
];

/** The messages, one each. */
export const searchLines = [
  "The tide rises at noon, the tide falls.",
  "Interfaces are printed by the printer",
  "今日は東京タワーへ行きました",
  "Crème BRÛLÉE for two",
  'He said "high tide" and left; 100% sure, a_b and C++',
  "done 🎉 at last",
];
/** A query, and the messages it finds, newest first. */
export const expectedFinds: readonly (readonly [string, readonly number[]])[] = [
  ["tide", [4, 0]],
  ["TIDE", [4, 0]],
  ["terfac", [1]],
  ["print", [1]],
  ["prin*", [1]],
  ["rinte*", []],
  ['"tide rises"', [0]],
  ['"tide rise"', []],
  ['"rises tide"', []],
  ['"high tide"', [4]],
  ["high tide", [4]],
  ["noon printer", []],
  ["at", [5, 0]],
  ["東京", [2]],
  ["タワー", [2]],
  ["京都", []],
  ["creme brulee", [3]],
  ["crème", [3]],
  ["100%", [4]],
  ["a_b", [4]],
  ["c++", [4]],
  ["🎉", [5]],
  ["last 🎉", [5]],
];
/** Texts that could trip up a query language, a database or a regular expression. */
export const hostileQueries = [
  ...'" "" \' * tide*rises ^tide text:tide - ((( \\ % _ {a} $1 ?'.split(" "),
  "tide AND",
  "NEAR(tide noon)",
  "a OR b",
  "{a b}: c",
  "tide\0",
  "\ud800",
  "\u202e",
  "",
  "   ",
  "'; DROP TABLE events; --",
  "🎉".repeat(200),
  "a".repeat(100_000),
  "a ".repeat(5_000),
  '"'.repeat(999),
];
