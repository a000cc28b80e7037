import type { SearchHit, SearchQuery } from "@holdfast/engine";
import { clipRanges, messageId, type MessageId, type SeqRange } from "@holdfast/protocol";
import {
  aCut,
  aNotice,
  anEvent,
  anOwner,
  aRange,
  aRunId,
  aSettledMessage,
  aToolMessage,
  aUserMessage,
  toSeq,
} from "../../fixtures/factories.ts";
import type { StoreCase } from "../harness.ts";
import { type TestSession, openTestSession, assertSameJson } from "../../fixtures/open-session.ts";

async function find(
  chat: TestSession,
  text: string,
  more: Partial<SearchQuery> = {},
): Promise<readonly SearchHit[]> {
  await chat.store.search.settled();
  const result = await chat.store.search.search(chat.owner, { text, limit: 50, ...more });
  if (result.status !== "ok") throw new Error(result.message);
  return result.hits;
}

const seqs = (hits: readonly SearchHit[]) => hits.map((hit) => hit.seq);

async function finds(chat: TestSession, text: string, expected: readonly number[]): Promise<void> {
  const hits = await find(chat, text, { session: chat.session });
  assertSameJson(seqs(hits.filter((hit) => hit.role !== "title")), expected, text);
}

export const searchCases: readonly StoreCase[] = [
  {
    title:
      "words, phrases, prefixes, parts of words and two CJK characters are found, newest first",
    async run({ store, advanceClock }) {
      const chat = await openTestSession(store, { title: "zzz" });
      for (const text of [
        "The lighthouse keeper sleeps",
        "A keeper of the Lighthouse",
        "東京都の天気は晴れ",
      ]) {
        await chat.commit([aUserMessage(text)]);
        await advanceClock(1_000);
      }
      await finds(chat, "keeper", [3, 2]);
      await finds(chat, "KEEPER lighthouse", [3, 2]);
      await finds(chat, '"lighthouse keeper"', [2]);
      await finds(chat, "sle*", [2]);
      await finds(chat, "ghthou", [3, 2]);
      await finds(chat, "天気", [4]);
      await finds(chat, "keeper 天気", []);
      await finds(chat, "nowhere", []);
    },
  },
  {
    title: "a hit has its session, seq, role, title and highlights",
    async run({ store }) {
      const chat = await openTestSession(store, { title: "On tides" });
      const { last, at } = await chat.commit([aUserMessage("Tell me about\nthe harbour, please")]);
      const [hit] = await find(chat, "harbour");
      assertSameJson(
        [hit?.session, hit?.seq, hit?.role, hit?.title, hit?.at],
        [chat.session, last, "user", "On tides", at],
      );
      const marked = hit?.highlights.map(([from, to]) => hit.snippet.slice(from, to).toLowerCase());
      assertSameJson(marked, ["harbour"]);
    },
  },
  {
    title: "role, time and session filter a search; titles are found as titles",
    async run({ store, advanceClock }) {
      const chat = await openTestSession(store, { title: "about kelp" });
      const other = await openTestSession(store, { title: "zzz" }, chat.owner);
      const runId = aRunId();
      await chat.commit([aUserMessage("kelp?")]);
      await chat.commit([
        aSettledMessage(runId, "kelp."),
        aToolMessage(runId, "kelp!"),
        aNotice("kelp…"),
      ]);
      await advanceClock(60_000);
      const { at: since } = await other.commit([aUserMessage("more kelp")]);
      const roles = async (query: Partial<SearchQuery>) =>
        (await find(chat, "kelp", query)).map((hit) => hit.role).toSorted();
      assertSameJson(await roles({ session: chat.session }), [
        "assistant",
        "notice",
        "title",
        "tool",
        "user",
      ]);
      for (const role of ["assistant", "notice", "title", "tool"] as const)
        assertSameJson(await roles({ role }), [role]);
      assertSameJson(
        (await find(chat, "kelp", { role: "user", since })).map((hit) => hit.session),
        [other.session],
      );
      assertSameJson(
        (await find(chat, "kelp", { role: "user", until: since - 1 })).map((hit) => hit.session),
        [chat.session],
      );
    },
  },
  {
    title: "pages contain each hit once",
    async run({ store, advanceClock }) {
      const chat = await openTestSession(store, { title: "zzz" });
      for (let index = 0; index < 7; index += 1) {
        await chat.commit([aUserMessage(`sardine ${index}`)]);
        await advanceClock(1_000);
      }
      await store.search.settled();
      const seen: number[] = [];
      let cursor: string | null | undefined;
      do {
        const query = { text: "sardine", limit: 3, ...(cursor && { cursor }) };
        const page = await store.search.search(chat.owner, query);
        if (page.status !== "ok") throw new Error(page.message);
        seen.push(...seqs(page.hits));
        assertSameJson(new Set(seen).size, seen.length, "each hit comes once");
        cursor = page.next;
      } while (cursor !== null);
      assertSameJson(seen, [8, 7, 6, 5, 4, 3, 2]);
    },
  },
  {
    title: "nobody finds another owner's messages, nor trashed or purged ones",
    async run({ store }) {
      const chat = await openTestSession(store, { title: "zzz" });
      await chat.commit([aUserMessage("anemone")]);
      assertSameJson((await find(chat, "anemone")).length, 1);
      const otherOwner = await openTestSession(store, {}, anOwner());
      assertSameJson(await find(otherOwner, "anemone"), []);
      await chat.commit([anEvent("session.trashed", {})]);
      assertSameJson(await find(chat, "anemone"), []);
      await chat.commit([anEvent("session.restored", {})]);
      assertSameJson((await find(chat, "anemone")).length, 1);
      await chat.commit([anEvent("session.trashed", {})]);
      await store.purge(chat.owner, chat.session);
      assertSameJson(await find(chat, "anemone"), []);
    },
  },
  {
    title: "a cut entry isn't found until it is restored",
    async run({ store }) {
      const chat = await openTestSession(store, { title: "zzz" });
      await chat.commit([aUserMessage("one limpet")]);
      await chat.commit([aUserMessage("two limpets")]);
      await chat.commit([aCut([aRange(1, 2), aRange(4)])]);
      await finds(chat, "limpet", [2]);
      const ranges = [aRange(1)];
      await chat.commit([anEvent("history.restored", { ranges, messageCount: 2, preview: "" })]);
      await finds(chat, "limpet", [3, 2]);
    },
  },
  {
    title: "a version out of view is found, and says which one shows it, while it can be chosen",
    async run({ store, advanceClock }) {
      const chat = await openTestSession(store, { title: "zzz" });
      const say = async (text: string) => {
        const event = aUserMessage(text);
        await chat.commit([event]);
        await advanceClock(1_000);
        return messageId.parse(event.data["messageId"]);
      };
      /** What follows the last cut is in view after these ranges. */
      let ranges: SeqRange[] = [aRange(1)];
      const show = async (kept: number, replaced?: { id: MessageId; seq: number; by: string }) => {
        const { head } = await chat.row();
        const before = { ranges, messageCount: 1, preview: "" };
        ranges = [...clipRanges(ranges, toSeq(kept)), aRange(head + 2)];
        const view = { ranges, messageCount: 1, preview: "", before };
        if (replaced === undefined) {
          await chat.commit([anEvent("history.cut", { ...view, reason: "clear" })]);
          return null;
        }
        const event = aUserMessage(replaced.by);
        const by = messageId.parse(event.data["messageId"]);
        const replaces = { messageId: replaced.id, seq: toSeq(replaced.seq), by };
        const edit = anEvent("history.cut", { ...view, reason: "edit", replaces });
        await chat.commit([edit, event]);
        await advanceClock(1_000);
        return by;
      };
      const first = await say("one limpet");
      const nested = await say("two limpets");
      const other = await show(2, { id: nested, seq: 3, by: "three winkles" });
      const hidden = async (text: string) =>
        (await find(chat, text, { session: chat.session })).map((hit) => [
          hit.seq,
          hit.alternative ?? null,
        ]);
      assertSameJson(await hidden("limpet"), [
        [3, nested],
        [2, null],
      ]);
      assertSameJson(await hidden("winkle"), [[5, null]]);
      await show(1, { id: first, seq: 2, by: "four whelks" });
      assertSameJson(
        await hidden("limpet"),
        [
          [3, nested],
          [2, first],
        ],
        "a version within a version",
      );
      assertSameJson(await hidden("winkle"), [[5, other]]);
      assertSameJson(
        (await find(chat, "limpet")).map((hit) => [hit.session, hit.seq]),
        [
          [chat.session, 3],
          [chat.session, 2],
        ],
        "in all sessions",
      );
      assertSameJson(await find(chat, "limpet", { onlyInView: true }), []);
      await show(0);
      assertSameJson(await find(chat, "limpet"), [], "cleared");
      assertSameJson(await find(chat, "whelk"), [], "cleared");
    },
  },
  {
    title: "a branch finds what it reads from its origin, even if that is trashed or purged",
    async run({ store, advanceClock }) {
      const origin = await openTestSession(store, { title: "zzz" });
      for (const text of ["a conch", "another conch"]) {
        await origin.commit([aUserMessage(text)]);
        await advanceClock(1_000);
      }
      const branch = await openTestSession(
        store,
        {
          title: "conch shells",
          origin: { sessionId: origin.session, seq: toSeq(2) },
          ranges: [aRange(1, 2, origin.session), aRange(3)],
        },
        origin.owner,
      );
      await branch.commit([aUserMessage("a third conch")]);
      const anywhere = async () =>
        (await find(branch, "conch"))
          .filter((hit) => hit.role !== "title")
          .map((hit) => [hit.session, hit.seq]);
      await finds(branch, "conch", [4, 2]);
      await finds(origin, "conch", [3, 2]);
      const [other, mine] = [origin.session, branch.session];
      assertSameJson(
        await anywhere(),
        [
          [mine, 4],
          [other, 3],
          [other, 2],
        ],
        "each entry once",
      );

      await origin.commit([anEvent("session.trashed", {})]);
      await finds(branch, "conch", [4, 2]);
      await finds(origin, "conch", []);
      assertSameJson(
        await anywhere(),
        [
          [mine, 4],
          [mine, 2],
        ],
        "origin in the trash",
      );
      await store.purge(origin.owner, origin.session);
      await finds(branch, "conch", [4, 2]);
      await store.search.rebuild();
      assertSameJson(
        await anywhere(),
        [
          [mine, 4],
          [mine, 2],
        ],
        "origin purged, index rebuilt",
      );
      await branch.commit([aCut([aRange(6)])]);
      await finds(branch, "conch", []);
      await branch.commit([anEvent("session.trashed", {})]);
      await store.purge(branch.owner, branch.session);
      assertSameJson(await find(branch, "conch"), []);
    },
  },
  {
    title: "no text breaks a search, and a rebuild loses nothing",
    async run({ store }) {
      const chat = await openTestSession(store, { title: "zzz" });
      await chat.commit([aUserMessage("a plain barnacle")]);
      for (const text of [
        '"',
        '""',
        "*",
        "a*b*",
        "AND OR NOT",
        "(",
        "-x",
        "col:umn",
        "\0",
        "\uD800",
        "%_\\",
        " ",
      ]) {
        await find(chat, text);
      }
      await store.search.rebuild();
      await finds(chat, "barnacle", [2]);
    },
  },
];
