import { seqSpanOf } from "@holdfast/engine";
import {
  aDelta,
  aMessageId,
  anEvent,
  anInput,
  aRunState,
  aSettledMessage,
  aToolMessage,
  toSeq,
  aUsage,
  aUserMessage,
} from "../../fixtures/factories.ts";
import type { StoreCase } from "../harness.ts";
import { openTestSession, assertSameJson, seqsOf, textsOf } from "../../fixtures/open-session.ts";
import { ids } from "@holdfast/protocol";

export const deltaCases: readonly StoreCase[] = [
  {
    title: "streamed output is in the log at once, for every process, and isn't an entry",
    async run({ store, open }) {
      const chat = await openTestSession(store);
      const { runId, under } = await chat.startRun();
      const { first, last } = await chat.commit([aDelta(runId, "a"), aDelta(runId, "b")], {
        under,
        pace: "tick",
      });
      assertSameJson([first, last], [5, 6]);
      const other = chat.through(await open());
      assertSameJson(textsOf(await other.events({ after: toSeq(4) })), ["a", "b"]);
      assertSameJson(textsOf(await other.events({ after: toSeq(4), upTo: toSeq(5) })), ["a"]);
      const { head, openDeltas, version } = await other.row();
      assertSameJson([head, openDeltas, version], [6, 2, 1]);
      assertSameJson((await other.entries()).length, 1);
      await other.store.close();
    },
  },
  {
    title: "deltas keep their run, their data and their order among other events",
    async run({ store }) {
      const chat = await openTestSession(store);
      const { runId, under } = await chat.startRun();
      const events = [
        aDelta(runId, "a"),
        aUsage(runId),
        anEvent("tool.output", { callId: ids.make("call"), text: "b" }, runId),
      ];
      const { at: time } = await chat.commit(events, { under });
      const expected = events.map((event, index) => ({ ...event, seq: 5 + index, at: time }));
      assertSameJson(await chat.events({ after: toSeq(4) }), expected);
    },
  },
  {
    title:
      "a snapshot contains a journal of thousands of deltas, in order with the events between them",
    async run({ store }) {
      const chat = await openTestSession(store);
      const { runId, under } = await chat.startRun();
      const deltas = (count: number) => Array.from({ length: count }, () => aDelta(runId));
      for (const count of [700, 300, 800, 700]) {
        await chat.commit([aUsage(runId), ...deltas(count)], { under });
      }
      const { journal, session } = await chat.snapshot();
      const numbers = Array.from({ length: 2_504 }, (_, index) => 5 + index);
      assertSameJson(seqsOf(journal).slice(-2_504), numbers);
      assertSameJson(session.head, 2_508);
      assertSameJson(journal.filter(({ type }) => type === "usage.recorded").length, 4);
    },
  },
  {
    title: "a snapshot contains a long answer completely, even while others stream",
    async run({ store }) {
      const [chat, other] = [await openTestSession(store), await openTestSession(store)];
      const { runId, under } = await chat.startRun();
      const busy = await other.startRun();
      const messageId = aMessageId();
      const words = Array.from({ length: 6_000 }, (_, index) => `${index} `);
      const stretches = [1_500, 10, 10, 10, 970, 3_500];
      let said = 0;
      for (const count of stretches) {
        const some = words.slice(said, said + count);
        said += count;
        const deltas = some.map((word) => aDelta(runId, word, messageId));
        await chat.commit(deltas, { under });
        const others = Array.from({ length: 900 }, () => aDelta(busy.runId, "x"));
        await other.commit(others, { under: busy.under });
      }
      const { journal } = await chat.snapshot();
      const deltas = journal.filter(({ type }) => type === "message.delta");
      assertSameJson(textsOf(deltas).join(""), words.join(""));
      const numbers = deltas
        .map(seqSpanOf)
        .flatMap(([from, to]) => Array.from({ length: to - from + 1 }, (_, index) => from + index));
      assertSameJson(
        numbers,
        words.map((_, index) => 5 + index),
      );
    },
  },
  {
    title: "a settlement must cover exactly the open deltas",
    async run({ store }) {
      const chat = await openTestSession(store);
      const { runId, under } = await chat.startRun();
      await chat.commit([aDelta(runId), aDelta(runId), aDelta(runId)], { under });
      const settle = (...ranges: [number, number][]) => [aSettledMessage(runId, "text", ranges)];
      await chat.refuses("deltas_unaccounted", settle(), { under });
      await chat.refuses("deltas_unaccounted", settle([5, 6]), { under });
      await chat.refuses("deltas_unaccounted", settle([5, 8]), { under });
      await chat.commit(settle([5, 6], [7, 7]), { under });
      assertSameJson((await chat.row()).openDeltas, 0);
    },
  },
  {
    title: "a run can't end while its output is open, except in the commit that settles it",
    async run({ store }) {
      const chat = await openTestSession(store);
      const { runId, under } = await chat.startRun();
      await chat.commit([aDelta(runId)], { under });
      for (const state of ["completed", "cancelled", "failed", "interrupted", "limit"] as const) {
        await chat.refuses("deltas_unaccounted", [aRunState(runId, state)], { under });
      }
      await chat.commit([aRunState(runId, "waiting")], { under });
      const settled = aSettledMessage(runId, "text", [[5, 5]]);
      await chat.commit([settled, aRunState(runId, "completed")], { under });
      const { liveRun, lastState, openDeltas } = await chat.row();
      assertSameJson([liveRun, lastState, openDeltas], [null, "completed", 0]);
    },
  },
  {
    title: "a settlement replaces its deltas with the message, before any pruning",
    async run({ store, open }) {
      const chat = await openTestSession(store);
      const { runId, under } = await chat.startRun();
      await chat.commit([aDelta(runId, "Well "), aDelta(runId, "said.")], { under });
      await chat.commit([aSettledMessage(runId, "Well said.", [[5, 6]])], { under });
      const other = chat.through(await open());
      for (const handle of [chat, other]) {
        assertSameJson(seqsOf(await handle.events()), [1, 2, 3, 4, 7]);
        assertSameJson(
          seqsOf(await handle.events({ after: toSeq(5) })),
          [7],
          "a cursor inside of the gap",
        );
        assertSameJson(textsOf(await handle.entries()), ["Hello", "Well said."]);
      }
      assertSameJson((await chat.snapshot()).journal, []);
      await store.prune(1_000);
      assertSameJson(seqsOf(await chat.events()), [1, 2, 3, 4, 7]);
      assertSameJson((await chat.commit([aUserMessage()])).first, 8, "no number is given again");
      await other.store.close();
    },
  },
  {
    title: "several entries of one settlement cover the deltas together",
    async run({ store }) {
      const chat = await openTestSession(store);
      const { runId, under } = await chat.startRun();
      await chat.commit([aDelta(runId), aDelta(runId), aDelta(runId)], { under });
      const entries = [
        aSettledMessage(runId, "said", [[5, 6]]),
        aToolMessage(runId, "did", [[7, 7]]),
      ];
      await chat.commit(entries, { under });
      assertSameJson(seqsOf(await chat.events({ after: toSeq(4) })), [8, 9]);
    },
  },
  {
    title:
      "a commit may carry the last deltas, their settlement and the first delta of the next step",
    async run({ store }) {
      const chat = await openTestSession(store);
      const { runId, under } = await chat.startRun();
      await chat.commit([aDelta(runId, "a")], { under });
      const settled = aSettledMessage(runId, "ab", [[5, 6]]);
      await chat.commit([aDelta(runId, "b"), settled, aDelta(runId, "c")], { under });
      assertSameJson(textsOf(await chat.events({ after: toSeq(4) })), ["ab", "c"]);
      assertSameJson((await chat.row()).openDeltas, 1);
      await chat.commit([aSettledMessage(runId, "c", [[8, 8]])], { under });
      assertSameJson(textsOf(await chat.events({ after: toSeq(4) })), ["ab", "c"]);
      assertSameJson(seqsOf(await chat.events({ after: toSeq(4) })), [7, 9]);
    },
  },
  {
    title: "a repeated commit of deltas is answered and not written again",
    async run({ store }) {
      const chat = await openTestSession(store);
      const { runId, under } = await chat.startRun();
      const tick = [aDelta(runId, "a"), aDelta(runId, "b")];
      const first = await chat.commit(tick, { under, pace: "tick" });
      assertSameJson(await chat.commit(tick, { under, pace: "tick" }), {
        ...first,
        repeated: true,
      });
      await chat.commit([aDelta(runId, "c")], { under, pace: "tick" });
      assertSameJson((await chat.commit(tick, { under, pace: "tick" })).first, first.first);
      assertSameJson(textsOf(await chat.events({ after: toSeq(4) })), ["a", "b", "c"]);
      assertSameJson((await chat.row()).openDeltas, 3);
    },
  },
  {
    title: "an input that arrives between two deltas keeps its seq through the settlement",
    async run({ store }) {
      const chat = await openTestSession(store);
      const { runId, under } = await chat.startRun();
      await chat.commit([aDelta(runId)], { under });
      const { input } = await chat.commit([anInput({ text: "by the way" })]);
      await chat.commit([aDelta(runId)], { under });
      await chat.commit(
        [
          aSettledMessage(runId, "text", [
            [5, 5],
            [7, 7],
          ]),
        ],
        { under },
      );
      assertSameJson(seqsOf(await chat.events({ after: toSeq(4) })), [6, 8]);
      assertSameJson(
        (await chat.snapshot()).inbox.map((queued) => queued.seq),
        [input?.seq],
      );
    },
  },
  {
    title: "deltas of concurrent sessions don't mix",
    async run({ store }) {
      const chats = await Promise.all(Array.from({ length: 10 }, () => openTestSession(store)));
      const runs = await Promise.all(chats.map((chat) => chat.startRun()));
      for (let tick = 0; tick < 5; tick += 1) {
        await Promise.all(
          chats.map((chat, index) => {
            const { runId, under } = runs[index]!;
            return chat.commit([aDelta(runId, `${index}.${tick}`)], { under, pace: "tick" });
          }),
        );
      }
      await chats[0]!.commit([aSettledMessage(runs[0]!.runId, "settled", [[5, 9]])]);
      for (const [index, chat] of chats.entries()) {
        const texts = textsOf(await chat.events({ after: toSeq(4) }));
        const streamed = Array.from({ length: 5 }, (_, tick) => `${index}.${tick}`);
        assertSameJson(texts, index === 0 ? ["settled"] : streamed);
      }
    },
  },
  {
    title: "pruning deletes settled deltas and no open ones, up to its limit",
    async run({ store }) {
      // What other cases have settled is pruned first: the limit then concerns this session alone.
      await store.prune(100_000);
      const chat = await openTestSession(store);
      const { runId, under } = await chat.startRun();
      await chat.commit([aDelta(runId), aDelta(runId), aDelta(runId)], { under });
      await chat.commit([aSettledMessage(runId, "text", [[5, 7]])], { under });
      await chat.commit([aDelta(runId, "open")], { under });
      const placeOf = async () => {
        const found: string[] = [];
        for await (const row of store.audit.events(chat.session)) {
          if (row.seq > 4) found.push(`${row.seq} ${row.place}`);
        }
        return found;
      };
      assertSameJson(await placeOf(), ["5 pruned", "6 pruned", "7 pruned", "8 log", "9 delta"]);
      assertSameJson(await store.prune(1), { status: "pruned", rows: 1 });
      await store.prune(100_000);
      assertSameJson(await placeOf(), ["8 log", "9 delta"]);
      assertSameJson(await store.prune(100_000), { status: "pruned", rows: 0 });
    },
  },
];
