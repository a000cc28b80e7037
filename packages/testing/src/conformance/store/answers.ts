import { type ApprovalId, ids } from "@holdfast/protocol";

import { anAnswer, anApproval, anEvent, anOwner, aRunState } from "../../fixtures/factories.ts";
import type { StoreCase } from "../harness.ts";
import {
  type TestSession,
  openTestSession,
  assertPresent,
  assertSameJson,
} from "../../fixtures/open-session.ts";

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

/** What is known of approvals beyond their calls. */
export const answerCases: readonly StoreCase[] = [
  {
    title:
      "what a person is shown and what they say is kept with the approval, and nothing else is",
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
    title: "what was answered is read from the newest on, page by page, of one session or of all",
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
