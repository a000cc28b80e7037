import { ids, type ApprovalId } from "@holdfast/protocol";
import type { ApprovalCursor, Store } from "@holdfast/engine";
import { anAnswer, anApproval, anEvent, anOwner, aRunState } from "../../fixtures/factories.ts";
import type { StoreCase } from "../harness.ts";
import {
  type TestSession,
  openTestSession,
  assertPresent,
  assertSameJson,
} from "../../fixtures/open-session.ts";

const weekMs = 7 * 24 * 60 * 60 * 1000;

/** A run that waits for an approval. */
async function askForApproval(chat: TestSession, count = 1) {
  const { runId, under } = await chat.startRun();
  const asked = Array.from({ length: count }, () => anApproval(runId));
  const { at } = await chat.commit([...asked, aRunState(runId, "waiting")], { under });
  const approvals = asked.map(({ data }) => data.approvalId);
  return {
    runId,
    approvals,
    approval: assertPresent(approvals[0]),
    asked: assertPresent(asked[0]).data,
    at,
  };
}

async function openIds({ reads }: Store, chat: TestSession): Promise<string[]> {
  const page = await reads.approvals(chat.owner, { session: chat.session, limit: 100 });
  return page.approvals.map(({ id }) => id);
}

export const approvalCases: readonly StoreCase[] = [
  {
    title: "an approval is stored as soon as it is asked for, visible to its owner only",
    async run({ store, open }) {
      const chat = await openTestSession(store);
      const { runId, approval, asked, at } = await askForApproval(chat);
      const other = await open();
      const row = {
        id: approval,
        session: chat.session,
        owner: chat.owner,
        runId,
        callId: asked.callId,
        tool: "terminal",
        input: { command: "ls" },
        inputHash: "a hash",
        askedAt: at,
        expiresAt: at + weekMs,
        state: "open",
        decision: null,
        answeredAt: null,
        details: {},
      };
      assertSameJson(await other.reads.approval(chat.owner, approval), row);
      assertSameJson((await other.reads.approvals(chat.owner, { limit: 9 })).approvals, [row]);
      assertSameJson(await other.reads.approvalsFor(chat.owner, chat.session, runId), [row]);
      const otherOwner = anOwner();
      assertSameJson(await other.reads.approval(otherOwner, approval), null);
      assertSameJson(await other.reads.approvals(otherOwner, { limit: 9 }), {
        approvals: [],
        next: null,
      });
      const query = { session: chat.session, limit: 9 };
      assertSameJson((await other.reads.approvals(otherOwner, query)).approvals, []);
      assertSameJson(await other.reads.approvalsFor(otherOwner, chat.session, runId), []);
      await other.close();
    },
  },
  {
    title: "open approvals are listed oldest first, page by page, for one session or all",
    async run({ store }) {
      const chat = await openTestSession(store);
      const first = await askForApproval(chat, 3);
      const second = await openTestSession(store, {}, chat.owner);
      const { approvals: others } = await askForApproval(second, 2);
      await chat.commit([anAnswer(assertPresent(first.approvals[1]))]);
      const expected = first.approvals.filter((_, index) => index !== 1).toSorted();
      assertSameJson((await openIds(store, chat)).toSorted(), expected);
      assertSameJson((await openIds(store, second)).toSorted(), others.toSorted());
      const all = [];
      let after: ApprovalCursor | null | undefined;
      do {
        const query = { limit: 1, ...(after && { after }) };
        const page = await store.reads.approvals(chat.owner, query);
        all.push(...page.approvals);
        assertSameJson(page.next === null, all.length === 4);
        after = page.next;
      } while (after !== null);
      assertSameJson(all.map(({ id }) => id).toSorted(), [...expected, ...others].toSorted());
      const times = all.map(({ askedAt }) => askedAt);
      assertSameJson(
        times,
        times.toSorted((a, b) => a - b),
      );
    },
  },
  {
    title: "an approval is answered once, by an event of its own session",
    async run({ store }) {
      const chat = await openTestSession(store);
      const { approval } = await askForApproval(chat);
      const other = await openTestSession(store, {}, chat.owner);
      await other.refuses("invalid_event", [anAnswer(approval)]);
      await chat.refuses("invalid_event", [anAnswer(ids.make("approval"))]);
      await chat.refuses("invalid_event", [anAnswer(approval, "expired")]);
      await chat.refuses("approval_answered", [anAnswer(approval), anAnswer(approval, "deny")]);
      const { at } = await chat.commit([anAnswer(approval, "session")]);
      await chat.refuses("approval_answered", [anAnswer(approval, "session")]);
      const row = await store.reads.approval(chat.owner, approval);
      assertSameJson([row?.state, row?.decision, row?.answeredAt], ["answered", "session", at]);
      assertSameJson(await openIds(store, chat), []);
    },
  },
  {
    title: "an approval is asked for once, and only by a live run",
    async run({ store }) {
      const chat = await openTestSession(store);
      const { runId, asked } = await askForApproval(chat);
      await chat.refuses("invalid_event", [anApproval(runId, asked)]);
      await chat.refuses("invalid_event", [anApproval(ids.make("run"))]);
      await chat.commit([aRunState(runId, "cancelled")]);
      await chat.refuses("invalid_event", [anApproval(runId)]);
      const other = await openTestSession(store, {}, chat.owner);
      const { runId: next } = await other.startRun();
      await other.refuses("invalid_event", [anApproval(next, asked)]);
    },
  },
  {
    title: "a session-wide decision applies to later runs of that session and to no other session",
    async run({ store }) {
      const chat = await openTestSession(store);
      const { runId, approvals } = await askForApproval(chat, 3);
      const decisions = ["once", "session", "always"] as const;
      await chat.commit([
        ...approvals.map((id, index) => anAnswer(id, decisions[index])),
        aRunState(runId, "cancelled"),
      ]);
      const next = ids.make("run");
      const found = await store.reads.approvalsFor(chat.owner, chat.session, next);
      assertSameJson(found.map(({ id }) => id).toSorted(), approvals.slice(1).toSorted());
      const other = await openTestSession(store, {}, chat.owner);
      assertSameJson(await store.reads.approvalsFor(chat.owner, other.session, next), []);
      assertSameJson((await store.reads.approvalsFor(chat.owner, chat.session, runId)).length, 3);
    },
  },
  {
    title: "the end of a run withdraws its open approvals",
    async run({ store }) {
      const chat = await openTestSession(store);
      const { runId, approvals } = await askForApproval(chat, 2);
      await chat.commit([anAnswer(assertPresent(approvals[0]), "deny")]);
      await chat.commit([aRunState(runId, "cancelled")]);
      const rows = await store.reads.approvalsFor(chat.owner, chat.session, runId);
      assertSameJson(rows.map(({ state }) => state).toSorted(), ["answered", "withdrawn"]);
      assertSameJson(await openIds(store, chat), []);
      await chat.refuses("approval_answered", [anAnswer(assertPresent(approvals[1]))]);
    },
  },
  {
    title: "trashing withdraws open approvals, and restoring doesn't ask again",
    async run({ store, advanceClock }) {
      const chat = await openTestSession(store);
      const { approval } = await askForApproval(chat);
      await chat.commit([anEvent("session.trashed", {})]);
      assertSameJson(await openIds(store, chat), []);
      await chat.commit([anEvent("session.restored", {})]);
      assertSameJson((await store.reads.approval(chat.owner, approval))?.state, "withdrawn");
      await advanceClock(weekMs);
      const expired = await store.work.expiredApprovals(1_000);
      assertSameJson(
        expired.some((expiredApproval) => expiredApproval.approval === approval),
        false,
      );
      await advanceClock(-weekMs);
    },
  },
  {
    title: "an approval asked while the clock was far ahead can still be answered",
    async run({ store, advanceClock }) {
      const chat = await openTestSession(store);
      const { approval } = await askForApproval(chat);
      await advanceClock(weekMs);
      await chat.commit([anEvent("session.changed", { pinned: true })]);
      await advanceClock(-weekMs);
      await chat.commit([anAnswer(approval)]);
      assertSameJson((await store.reads.approval(chat.owner, approval))?.state, "answered");
    },
  },
  {
    title: "seven days later, by the store's clock, an approval can only be closed as expired",
    async run({ store, advanceClock }) {
      const chat = await openTestSession(store);
      const { approvals } = await askForApproval(chat, 2);
      const [first, second] = [assertPresent(approvals[0]), assertPresent(approvals[1])];
      const mine = async () =>
        (await store.work.expiredApprovals(1_000)).filter(
          ({ session }) => session === chat.session,
        );
      assertSameJson(await mine(), []);
      await advanceClock(weekMs);
      const { owner, session } = chat;
      assertSameJson(
        (await mine()).toSorted((a, b) => (a.approval < b.approval ? -1 : 1)),
        approvals.toSorted().map((approval) => ({ owner, session, approval })),
      );
      await chat.refuses("approval_answered", [anAnswer(first)]);
      await chat.commit([anAnswer(first, "expired")]);
      assertSameJson(
        (await mine()).map(({ approval }) => approval),
        [second],
      );
      await advanceClock(-weekMs);
    },
  },
  {
    title: "a purge deletes the approvals, and an audit shows them until then",
    async run({ store }) {
      const chat = await openTestSession(store);
      const { approval } = await askForApproval(chat);
      const derived = assertPresent(await store.audit.derived(chat.session));
      assertSameJson(
        derived.approvals.map(({ id }) => id),
        [approval],
      );
      assertSameJson(await store.audit.replaceDerived({ ...derived, approvals: [] }), "replaced");
      assertSameJson(await store.reads.approval(chat.owner, approval), null);
      assertSameJson(await store.audit.replaceDerived(derived), "replaced");
      assertSameJson(await store.reads.approval(chat.owner, approval), derived.approvals[0]);
      await chat.commit([anEvent("session.trashed", {})]);
      await store.purge(chat.owner, chat.session);
      assertSameJson(await store.reads.approval(chat.owner, approval), null);
      for await (const orphan of store.audit.orphans()) assertSameJson(orphan, "none");
    },
  },
  {
    title: "any input round-trips",
    async run({ store }) {
      const chat = await openTestSession(store);
      const { runId } = await chat.startRun();
      const input = { text: "a\0b \ud800 ü", __proto__: null, list: [1, null, true] };
      const name = "odd\0name";
      const asked = anApproval(runId, { input, name });
      await chat.commit([asked]);
      const row = assertPresent(await store.reads.approval(chat.owner, asked.data.approvalId));
      assertSameJson(row.input, input);
      assertSameJson(row.tool, "odd\uFFFDname");
    },
  },
  {
    title: "a resting run is nobody's work until its cancel is requested, and its rest is counted",
    async run({ store, advanceClock }) {
      const chat = await openTestSession(store);
      const { runId, at } = await askForApproval(chat);
      const isWork = async () =>
        (await store.work.live(1_000)).some(({ session }) => session === chat.session);
      const run = async () => assertPresent(await store.reads.run(chat.owner, runId));
      assertSameJson(await isWork(), false);
      assertSameJson((await run()).restsSince, at);
      await advanceClock(5_000);
      const word = await chat.commit([aRunState(runId, "claimed", { cause: "answered" })]);
      assertSameJson(await isWork(), true);
      const { restsSince, restedMs, cause } = await run();
      assertSameJson([restsSince, restedMs, cause], [null, word.at - at, "answered"]);
      await chat.commit([aRunState(runId, "paused")]);
      assertSameJson(await isWork(), false);
      await chat.commit([anEvent("run.cancel", {}, runId)]);
      assertSameJson(await isWork(), true);
    },
  },
];

const shownDetails = {
  place: "/work \u0000 ü",
  shown: 'runs "git" \\u{202E}',
  rules: ["terminal: git status", "terminal: git *"],
};

async function askApprovals(chat: TestSession, count: number) {
  const { runId, under } = await chat.startRun();
  const asked = Array.from({ length: count }, () => anApproval(runId));
  await chat.commit([...asked, aRunState(runId, "waiting")], { under });
  return asked.map(({ data }) => data.approvalId);
}

/** What is stored about approvals besides their calls. */
export const answerCases: readonly StoreCase[] = [
  {
    title:
      "the shown details and the person's answer are stored with the approval, and nothing else",
    async run({ store, open }) {
      const chat = await openTestSession(store);
      const { runId, under } = await chat.startRun();
      const call = anApproval(runId);
      const question = anApproval(runId);
      const approvalId = call.data.approvalId;
      await chat.commit(
        [
          { ...call, data: { ...call.data, ...shownDetails, more: "unknown" } },
          { ...question, data: { ...question.data, kind: "question" } },
          aRunState(runId, "waiting"),
        ],
        { under },
      );
      const other = await open();
      const row = async (id: typeof approvalId) =>
        assertPresent(await other.reads.approval(chat.owner, id)).details;
      assertSameJson(await row(approvalId), shownDetails);
      assertSameJson(await row(question.data.approvalId), { kind: "question" });
      const said = { rule: "terminal: git *", by: "owner" };
      await chat.commit([
        anEvent("approval.answered", { approvalId, decision: "always", ...said }),
        anEvent("approval.answered", {
          approvalId: question.data.approvalId,
          decision: "once",
          answer: "blue \u0000 ü",
        }),
      ]);
      assertSameJson(await row(approvalId), { ...shownDetails, ...said });
      assertSameJson(await row(question.data.approvalId), {
        kind: "question",
        answer: "blue \u0000 ü",
      });
      await other.close();
    },
  },
  {
    title: "answered approvals are listed newest first, page by page, for one session or all",
    async run({ store }) {
      const chat = await openTestSession(store);
      const other = await openTestSession(store, {}, chat.owner);
      const first = await askApprovals(chat, 3);
      const second = await askApprovals(other, 1);
      for (const [index, id] of first.entries())
        await chat.commit([anAnswer(id, index === 0 ? "deny" : "once")]);
      await other.commit([anAnswer(assertPresent(second[0]), "session")]);
      const read = async (query: { readonly session?: TestSession["session"] }) => {
        const seen: ApprovalId[] = [];
        let page = await store.reads.answered(chat.owner, { ...query, limit: 2 });
        for (;;) {
          seen.push(...page.approvals.map(({ id }) => id));
          const { next: before } = page;
          if (before === null) return seen;
          page = await store.reads.answered(chat.owner, { ...query, limit: 2, before });
        }
      };
      const all = await read({});
      assertSameJson(all.toSorted(), [...first, ...second].toSorted());
      const rows = await Promise.all(all.map((id) => store.reads.approval(chat.owner, id)));
      const times = rows.map((row) => assertPresent(row).answeredAt ?? 0);
      assertSameJson(
        times,
        times.toSorted((a, b) => b - a),
      );
      assertSameJson((await read({ session: chat.session })).toSorted(), first.toSorted());
      assertSameJson(await read({ session: ids.make("session") }), []);
      assertSameJson((await store.reads.answered(anOwner(), { limit: 9 })).approvals, []);
    },
  },
];
