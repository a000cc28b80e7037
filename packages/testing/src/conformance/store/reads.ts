import {
  aDelta,
  anEvent,
  anInput,
  aRunId,
  aRunState,
  aSettledMessage,
  aStep,
  at,
  aUsage,
  aUserMessage,
} from "../../fixtures/factories.ts";
import type { StoreCase } from "../harness.ts";
import { openSession, present, same, seqsOf, textsOf } from "../../fixtures/open-session.ts";

export const readCases: readonly StoreCase[] = [
  {
    title: "an event is found by its id, in its own session and by its owner alone",
    async run({ store, open }) {
      const [chat, other] = [await openSession(store), await openSession(store)];
      const said = aUserMessage("here");
      const { last } = await chat.commit([said]);
      const elsewhere = await open();
      for (const { reads } of [store, elsewhere]) {
        const found = present(await reads.event(chat.owner, chat.session, said.id));
        same([found.seq, found.type, found.data], [last, said.type, said.data]);
        same(await reads.event(other.owner, chat.session, said.id), null);
        same(await reads.event(other.owner, other.session, said.id), null);
        same(await reads.event(chat.owner, chat.session, aUserMessage().id), null);
      }
      await elsewhere.close();
    },
  },
  {
    title: "events come after a cursor, up to a number and page by page",
    async run({ store }) {
      const chat = await openSession(store);
      await chat.commit(Array.from({ length: 9 }, (_, index) => aUserMessage(`${index + 2}`)));
      const page = async (after: number, limit: number, upTo?: number) => {
        const query = { after: at(after), limit, ...(upTo !== undefined && { upTo: at(upTo) }) };
        const { events, head, more } = await chat.page(query);
        return [seqsOf(events), head, more];
      };
      same(await page(0, 4), [[1, 2, 3, 4], 10, true]);
      same(await page(4, 4), [[5, 6, 7, 8], 10, true]);
      same(await page(8, 4), [[9, 10], 10, false]);
      same(await page(6, 4), [[7, 8, 9, 10], 10, false], "a full page that is the last");
      same(await page(2, 100, 5), [[3, 4, 5], 10, false]);
      same(await page(2, 2, 5), [[3, 4], 10, true]);
      same(await page(10, 4), [[], 10, false]);
      same(await page(99, 4), [[], 10, false], "a cursor beyond the head");
    },
  },
  {
    title: "pages run over log and open deltas as one order",
    async run({ store }) {
      const chat = await openSession(store);
      const { runId, under } = await chat.startRun();
      for (let tick = 0; tick < 4; tick += 1) {
        await chat.commit([aDelta(runId), aUsage(runId)], { under });
      }
      const seen: number[] = [];
      let more = true;
      while (more) {
        const page = await chat.page({ after: at(seen.at(-1) ?? 0), limit: 3 });
        seen.push(...seqsOf(page.events));
        more = page.more;
      }
      same(
        seen,
        Array.from({ length: 12 }, (_, index) => index + 1),
      );
    },
  },
  {
    title:
      "a reader who follows by cursor while others write misses nothing and sees nothing twice",
    async run({ store, open }) {
      const chat = await openSession(store);
      const reader = chat.through(await open());
      const writing = Promise.all(
        Array.from({ length: 30 }, () => chat.commit([aUserMessage(), anInput()])),
      );
      const seen: number[] = [];
      while (seen.length < 61) {
        const { events } = await reader.page({ after: at(seen.at(-1) ?? 0), limit: 7 });
        seen.push(...seqsOf(events));
      }
      await writing;
      same(
        seen,
        Array.from({ length: 61 }, (_, index) => index + 1),
      );
      await reader.store.close();
    },
  },
  {
    title: "entries come newest page first, each page oldest first",
    async run({ store }) {
      const chat = await openSession(store);
      for (let index = 1; index <= 5; index += 1) {
        await chat.commit([aUserMessage(`${index}`), anInput()]);
      }
      const page = async (limit: number, before?: number) => {
        const query = { limit, ...(before !== undefined && { before: at(before) }) };
        const found = present(await store.reads.entries(chat.owner, chat.session, query));
        return [textsOf(found.entries), found.more];
      };
      same(await page(2), [["4", "5"], true]);
      same(await page(2, 8), [["2", "3"], true]);
      same(await page(2, 4), [["1"], false]);
      same(await page(5), [["1", "2", "3", "4", "5"], false]);
      same(await page(3, 2), [[], false]);
    },
  },
  {
    title: "a snapshot shows the live run, its inbox and the journal of its running step",
    async run({ store }) {
      const chat = await openSession(store);
      const { runId, under } = await chat.startRun("Hello");
      await chat.commit([aStep(runId), aDelta(runId, "a")], { under });
      await chat.commit([anInput({ text: "next" }), anInput({ text: "after next" })]);
      await chat.commit([aDelta(runId, "b")], { under });
      const { session, entries, run, inbox, journal } = await chat.snapshot();
      same(
        [session.liveRun, session.liveState, run?.id, run?.state, run?.step],
        [runId, "running", runId, "running", 1],
      );
      same(textsOf(entries.entries), ["Hello"]);
      same(
        inbox.map((input) => input.content?.text),
        ["next", "after next"],
      );
      same(
        journal.map((event) => [event.seq, event.type]),
        [
          [5, "step.started"],
          [6, "message.delta"],
          [9, "message.delta"],
        ],
      );
      same(session.head, 9);
    },
  },
  {
    title: "the journal begins again with each settled step, and ends with the run",
    async run({ store }) {
      const chat = await openSession(store);
      const { runId, under } = await chat.startRun();
      await chat.commit([aStep(runId, 1), aDelta(runId, "one")], { under });
      await chat.commit([aSettledMessage(runId, "one", [[6, 6]])], { under });
      same((await chat.snapshot()).journal, []);
      await chat.commit([aStep(runId, 2), aDelta(runId, "two")], { under });
      const { journal, run } = await chat.snapshot();
      same(seqsOf(journal), [8, 9]);
      same(run?.step, 2);
      await chat.commit([aSettledMessage(runId, "two", [[9, 9]]), aRunState(runId, "completed")], {
        under,
      });
      const ended = await chat.snapshot();
      same([ended.run, ended.journal, ended.session.liveRun], [null, [], null]);
    },
  },
  {
    title: "a snapshot is one instant: its parts agree while others write",
    async run({ store, open }) {
      const chat = await openSession(store);
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
        same(session.version, settled);
        same(session.messageCount, settled);
        same(journal.filter((event) => event.type === "message.delta").length, session.openDeltas);
        const newest = journal.at(-1)?.seq ?? entries.entries.at(-1)?.seq ?? 0;
        same(newest <= session.head, true);
      }
      await writing;
      await reader.store.close();
    },
  },
  {
    title: "a run's row follows its states from the input to its end",
    async run({ store, advanceClock }) {
      const chat = await openSession(store);
      const read = async () => present(await store.reads.run(chat.owner, runId));
      const runId = aRunId();
      const { at: createdAt } = await chat.commit([anInput({ runId })]);
      same((await read()).state, "queued");
      same([(await read()).createdAt, (await read()).startedAt], [createdAt, null]);
      await advanceClock(1_000);
      const { at: startedAt } = await chat.commit([aRunState(runId, "claimed")]);
      await chat.commit([anEvent("run.cancel", {}, runId)]);
      same((await read()).cancelRequested, true);
      await advanceClock(1_000);
      const failed = anEvent(
        "run.state",
        { state: "failed", cause: "model_refused", attempt: 2 },
        runId,
      );
      const { at: endedAt } = await chat.commit([failed]);
      const row = await read();
      same(
        [row.state, row.cause, row.attempt, row.session],
        ["failed", "model_refused", 2, chat.session],
      );
      same([row.createdAt, row.startedAt, row.endedAt], [createdAt, startedAt, endedAt]);
      const next = aRunId();
      await chat.commit([anEvent("run.state", { state: "claimed", continues: runId }, next)]);
      same((await store.reads.run(chat.owner, next))?.continues, runId);
      same(await store.reads.run(chat.owner, aRunId()), null);
    },
  },
  {
    title: "the inbox holds what waits, in order, as it was last changed",
    async run({ store }) {
      const chat = await openSession(store);
      const accept = async (text: string) =>
        present((await chat.commit([anInput({ text, mode: "steer" })])).input).messageId;
      const [a, b, c] = [await accept("a"), await accept("b"), await accept("c")];
      await chat.commit([anEvent("input.changed", { messageId: a, text: "a, better" })]);
      await chat.commit([anEvent("input.removed", { messageId: b })]);
      const texts = async () => (await chat.snapshot()).inbox.map((each) => each.content?.text);
      same(await texts(), ["a, better", "c"]);
      same((await chat.snapshot()).inbox[0]?.mode, "steer");
      await chat.commit([aUserMessage("a, better", a)]);
      same(await texts(), ["c"]);
      await chat.commit([anEvent("input.removed", { messageId: c })]);
      same(await texts(), []);
    },
  },
];
