import type { Json } from "@holdfast/protocol";

import {
  aDelta,
  anEvent,
  anInput,
  anOwner,
  aRunId,
  aRunState,
  toSeq,
  aUsage,
  aUserMessage,
} from "../../fixtures/factories.ts";
import type { StoreCase } from "../harness.ts";
import {
  openTestSession,
  assertPresent,
  assertSameJson,
  textsOf,
  readListPage,
} from "../../fixtures/open-session.ts";

const awkwardTexts = [
  "NUL \0 inside",
  "lone high \uD83D and low \uDE00 surrogates",
  "emoji 👩‍👩‍👧‍👦, 漢字, עברית, combining e\u0301",
  "line\u2028separators\u2029 and \u0085 \u200B \uFEFF",
  "quotes ' \" ` \\ and 'drop table'; --",
  '{"looks": "like json"} \\u0000 \\ud800',
  "",
  " \t\r\n ",
];

const nested = (depth: number): Json => (depth === 0 ? "core" : { inner: nested(depth - 1) });

export const textCases: readonly StoreCase[] = [
  {
    title: "every text round-trips in messages, deltas, inputs and keys",
    async run({ store, open }) {
      const chat = await openTestSession(store);
      const other = chat.through(await open());
      const { runId } = await chat.startRun();
      for (const text of awkwardTexts) {
        const input = anInput({ text });
        const foreign = { ...anInput(), type: "future.thing", data: { [text]: [text, { text }] } };
        const { first, input: accepted } = await chat.commit([
          aUserMessage(text),
          aDelta(runId, text),
          foreign,
          input,
        ]);
        const [message, delta, kept] = await other.events({ after: toSeq(first - 1), limit: 3 });
        assertSameJson(textsOf([assertPresent(message), assertPresent(delta)]), [text, text]);
        assertSameJson(kept?.data, foreign.data);
        const row = (await other.snapshot()).inbox.find(
          (queued) => queued.messageId === accepted?.messageId,
        );
        assertSameJson(row?.content?.text, text);
      }
      await other.store.close();
    },
  },
  {
    title: "titles, previews, tags, projects and causes are clean, whatever their source",
    async run({ store }) {
      for (const text of awkwardTexts) {
        const owner = anOwner();
        const chat = await openTestSession(store, {}, owner);
        await chat.commit([aUserMessage(text)]);
        const name = text === "" ? "x" : text;
        const settings = {
          title: name,
          tags: [name, "plain"],
          project: name,
          model: name,
          workspace: name,
        };
        await chat.commit([anEvent("session.changed", settings)]);
        const runId = aRunId();
        await chat.commit([
          aRunState(runId, "claimed"),
          aRunState(runId, "failed", { cause: text }),
          aUsage(runId, { model: name }),
        ]);
        const row = await chat.row();
        const shown = [
          row.title ?? "",
          row.preview,
          ...row.tags,
          row.project ?? "",
          row.model ?? "",
          row.workspace ?? "",
        ];
        for (const value of shown)
          assertSameJson([value.isWellFormed(), value.includes("\0")], [true, false]);
        assertSameJson(/[\p{Cc}\u2028\u2029]/u.test(`${row.title} ${row.preview}`), false);
        assertSameJson((await readListPage(store, owner, { limit: 5, tag: "plain" })).sessions, [
          row,
        ]);
        assertSameJson((await store.reads.run(owner, runId))?.state, "failed");
      }
    },
  },
  {
    title: "a long title and a long preview are cut between characters",
    async run({ store }) {
      const chat = await openTestSession(store);
      await chat.commit([aUserMessage("👍".repeat(5_000))]);
      const { title, preview } = await chat.row();
      assertSameJson([assertPresent(title).isWellFormed(), preview.isWellFormed()], [true, true]);
      assertSameJson([assertPresent(title).length <= 120, preview.length <= 200], [true, true]);
    },
  },
  {
    title: "numbers, nulls and nesting of a payload are preserved",
    async run({ store }) {
      const chat = await openTestSession(store);
      const data = {
        numbers: [0, -1, 1.5, 1e300, 9_007_199_254_740_991, 5e-324],
        nothing: null,
        empty: [{}, [], ""],
        deep: nested(50),
        "": "an empty key",
      };
      await chat.commit([{ ...anInput(), type: "future.thing", data }]);
      assertSameJson((await chat.events()).at(-1)?.data, data);
    },
  },
];
