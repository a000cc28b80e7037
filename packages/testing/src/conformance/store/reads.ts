import { setImmediate as nextTurn } from "node:timers/promises";
import {
  aDelta,
  anEvent,
  anInput,
  aRunId,
  aRunState,
  aSettledMessage,
  aStep,
  toSeq,
  aUsage,
  aUserMessage,
} from "../../fixtures/factories.ts";
import type { StoreCase } from "../harness.ts";
import {
  openTestSession,
  assertPresent,
  assertSameJson,
  seqsOf,
  textsOf,
} from "../../fixtures/open-session.ts";

// The readers below yield to the event loop between reads. Otherwise a store that reads from memory and writes to disk
// could never write.

export const readCases: readonly StoreCase[] = [
  {
    title: "an event is found by its id, in its own session and by its owner only",
    async run({ store, open }) {
      const [chat, other] = [await openTestSession(store), await openTestSession(store)];
      const said = aUserMessage("here");
      const { last } = await chat.commit([said]);
      const elsewhere = await open();
      for (const { reads } of [store, elsewhere]) {
        const found = assertPresent(await reads.event(chat.owner, chat.session, said.id));
        assertSameJson([found.seq, found.type, found.data], [last, said.type, said.data]);
        assertSameJson(await reads.event(other.owner, chat.session, said.id), null);
        assertSameJson(await reads.event(other.owner, other.session, said.id), null);
        assertSameJson(await reads.event(chat.owner, chat.session, aUserMessage().id), null);
      }
      await elsewhere.close();
    },
  },
  {
    title: "events are read after a cursor, up to a seq, page by page",
    async run({ store }) {
      const chat = await openTestSession(store);
      await chat.commit(Array.from({ length: 9 }, (_, index) => aUserMessage(`${index + 2}`)));
      const page = async (after: number, limit: number, upTo?: number) => {
        const query = {
          after: toSeq(after),
          limit,
          ...(upTo !== undefined && { upTo: toSeq(upTo) }),
        };
        const { events, head, more } = await chat.page(query);
        return [seqsOf(events), head, more];
      };
      assertSameJson(await page(0, 4), [[1, 2, 3, 4], 10, true]);
      assertSameJson(await page(4, 4), [[5, 6, 7, 8], 10, true]);
      assertSameJson(await page(8, 4), [[9, 10], 10, false]);
      assertSameJson(await page(6, 4), [[7, 8, 9, 10], 10, false], "a full page that is the last");
      assertSameJson(await page(2, 100, 5), [[3, 4, 5], 10, false]);
      assertSameJson(await page(2, 2, 5), [[3, 4], 10, true]);
      assertSameJson(await page(10, 4), [[], 10, false]);
      assertSameJson(await page(99, 4), [[], 10, false], "a cursor beyond the head");
    },
  },
  {
    title: "pages run across the log and open deltas in one order",
    async run({ store }) {
      const chat = await openTestSession(store);
      const { runId, under } = await chat.startRun();
      for (let tick = 0; tick < 4; tick += 1) {
        await chat.commit([aDelta(runId), aUsage(runId)], { under });
      }
      const seen: number[] = [];
      let more = true;
      while (more) {
        const page = await chat.page({ after: toSeq(seen.at(-1) ?? 0), limit: 3 });
        seen.push(...seqsOf(page.events));
        more = page.more;
      }
      assertSameJson(
        seen,
        Array.from({ length: 12 }, (_, index) => index + 1),
      );
    },
  },
  {
    title:
      "a reader that follows by cursor misses nothing and sees nothing twice while others write",
    async run({ store, open }) {
      const chat = await openTestSession(store);
      const reader = chat.through(await open());
      const writing = Promise.all(
        Array.from({ length: 30 }, () => chat.commit([aUserMessage(), anInput()])),
      );
      const seen: number[] = [];
      while (seen.length < 61) {
        const { events } = await reader.page({ after: toSeq(seen.at(-1) ?? 0), limit: 7 });
        seen.push(...seqsOf(events));
        await nextTurn();
      }
      await writing;
      assertSameJson(
        seen,
        Array.from({ length: 61 }, (_, index) => index + 1),
      );
      await reader.store.close();
    },
  },
  {
    title: "entries are read newest page first, each page oldest first",
    async run({ store }) {
      const chat = await openTestSession(store);
      for (let index = 1; index <= 5; index += 1) {
        await chat.commit([aUserMessage(`${index}`), anInput()]);
      }
      const page = async (limit: number, before?: number) => {
        const query = { limit, ...(before !== undefined && { before: toSeq(before) }) };
        const found = assertPresent(await store.reads.entries(chat.owner, chat.session, query));
        return [textsOf(found.entries), found.more];
      };
      assertSameJson(await page(2), [["4", "5"], true]);
      assertSameJson(await page(2, 8), [["2", "3"], true]);
      assertSameJson(await page(2, 4), [["1"], false]);
      assertSameJson(await page(5), [["1", "2", "3", "4", "5"], false]);
      assertSameJson(await page(3, 2), [[], false]);
    },
  },
  {
    title: "a snapshot shows the live run, its inbox and the journal of its current step",
    async run({ store }) {
      const chat = await openTestSession(store);
      const { runId, under } = await chat.startRun("Hello");
      await chat.commit([aStep(runId), aDelta(runId, "a")], { under });
      await chat.commit([anInput({ text: "next" }), anInput({ text: "after next" })]);
      await chat.commit([aDelta(runId, "b")], { under });
      const { session, entries, run, inbox, journal } = await chat.snapshot();
      assertSameJson(
        [session.liveRun, session.liveState, run?.id, run?.state, run?.step],
        [runId, "running", runId, "running", 1],
      );
      assertSameJson(textsOf(entries.entries), ["Hello"]);
      assertSameJson(
        inbox.map((input) => input.content?.text),
        ["next", "after next"],
      );
      assertSameJson(
        journal.map((event) => [event.seq, event.type]),
        [
          [5, "step.started"],
          [6, "message.delta"],
          [9, "message.delta"],
        ],
      );
      assertSameJson(session.head, 9);
    },
  },
  {
    title: "the journal starts over with each settled step, and ends with the run",
    async run({ store }) {
      const chat = await openTestSession(store);
      const { runId, under } = await chat.startRun();
      await chat.commit([aStep(runId, 1), aDelta(runId, "one")], { under });
      await chat.commit([aSettledMessage(runId, "one", [[6, 6]])], { under });
      assertSameJson((await chat.snapshot()).journal, []);
      await chat.commit([aStep(runId, 2), aDelta(runId, "two")], { under });
      const { journal, run } = await chat.snapshot();
      assertSameJson(seqsOf(journal), [8, 9]);
      assertSameJson(run?.step, 2);
      await chat.commit([aSettledMessage(runId, "two", [[9, 9]]), aRunState(runId, "completed")], {
        under,
      });
      const ended = await chat.snapshot();
      assertSameJson([ended.run, ended.journal, ended.session.liveRun], [null, [], null]);
    },
  },
  {
    title: "the parts of a snapshot agree while others write",
    async run({ store, open }) {
      const chat = await openTestSession(store);
      const reader = chat.through(await open());
      const { runId, under } = await chat.startRun();
      const writing = (async () => {
        for (let step = 1; step <= 10; step += 1) {
          const { last } = await chat.commit([aDelta(runId), aDelta(runId)], { under });
          await chat.commit([aSettledMessage(runId, `${step}`, [[last - 1, last]])], { under });
        }
      })();
      let settled = 0;
      while (settled < 11) {
        const { session, entries, journal } = await reader.snapshot();
        settled = entries.entries.length;
        assertSameJson(session.version, settled);
        assertSameJson(session.messageCount, settled);
        assertSameJson(
          journal.filter((event) => event.type === "message.delta").length,
          session.openDeltas,
        );
        const newest = journal.at(-1)?.seq ?? entries.entries.at(-1)?.seq ?? 0;
        assertSameJson(newest <= session.head, true);
        await nextTurn();
      }
      await writing;
      await reader.store.close();
    },
  },
  {
    title: "a run's row follows its states from the input to its end",
    async run({ store, advanceClock }) {
      const chat = await openTestSession(store);
      const read = async () => assertPresent(await store.reads.run(chat.owner, runId));
      const runId = aRunId();
      const { at: createdAt } = await chat.commit([anInput({ runId })]);
      assertSameJson((await read()).state, "queued");
      assertSameJson([(await read()).createdAt, (await read()).startedAt], [createdAt, null]);
      await advanceClock(1_000);
      const { at: startedAt } = await chat.commit([aRunState(runId, "claimed")]);
      await chat.commit([anEvent("run.cancel", {}, runId)]);
      assertSameJson((await read()).cancelRequested, true);
      await advanceClock(1_000);
      const failed = anEvent(
        "run.state",
        { state: "failed", cause: "model_refused", attempt: 2 },
        runId,
      );
      const { at: endedAt } = await chat.commit([failed]);
      const row = await read();
      assertSameJson(
        [row.state, row.cause, row.attempt, row.session],
        ["failed", "model_refused", 2, chat.session],
      );
      assertSameJson([row.createdAt, row.startedAt, row.endedAt], [createdAt, startedAt, endedAt]);
      const next = aRunId();
      await chat.commit([anEvent("run.state", { state: "claimed", continues: runId }, next)]);
      assertSameJson((await store.reads.run(chat.owner, next))?.continues, runId);
      assertSameJson(await store.reads.run(chat.owner, aRunId()), null);
    },
  },
  {
    title: "the inbox holds the queued messages, in order, as last changed",
    async run({ store }) {
      const chat = await openTestSession(store);
      const accept = async (text: string) =>
        assertPresent((await chat.commit([anInput({ text, mode: "steer" })])).input).messageId;
      const [a, b, c] = [await accept("a"), await accept("b"), await accept("c")];
      await chat.commit([anEvent("input.changed", { messageId: a, text: "a, better" })]);
      await chat.commit([anEvent("input.removed", { messageId: b })]);
      const texts = async () => (await chat.snapshot()).inbox.map((input) => input.content?.text);
      assertSameJson(await texts(), ["a, better", "c"]);
      assertSameJson((await chat.snapshot()).inbox[0]?.mode, "steer");
      await chat.commit([aUserMessage("a, better", a)]);
      assertSameJson(await texts(), ["c"]);
      await chat.commit([anEvent("input.removed", { messageId: c })]);
      assertSameJson(await texts(), []);
    },
  },
];
