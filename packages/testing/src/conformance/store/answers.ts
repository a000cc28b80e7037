import { type ApprovalId, ids } from "@holdfast/protocol";

import { anAnswer, anApproval, anEvent, anOwner, aRunState } from "../../fixtures/factories.ts";
import type { StoreCase } from "../harness.ts";
import { type OpenSession, openSession, present, same } from "../../fixtures/open-session.ts";

const shown = {
  place: "/work \u0000 ü",
  shown: 'runs "git" \\u{202E}',
  rules: ["terminal: git status", "terminal: git *"],
};

async function askAll(chat: OpenSession, count: number) {
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
      const chat = await openSession(store);
      const { runId, under } = await chat.startRun();
      const call = anApproval(runId);
      const question = anApproval(runId);
      const approvalId = call.data.approvalId;
      await chat.commit(
        [
          { ...call, data: { ...call.data, ...shown, more: "unknown" } },
          { ...question, data: { ...question.data, kind: "question" } },
          aRunState(runId, "waiting"),
        ],
        { under },
      );
      const other = await open();
      const row = async (id: typeof approvalId) =>
        present(await other.reads.approval(chat.owner, id)).details;
      same(await row(approvalId), shown);
      same(await row(question.data.approvalId), { kind: "question" });
      const said = { rule: "terminal: git *", by: "owner" };
      await chat.commit([
        anEvent("approval.answered", { approvalId, decision: "always", ...said }),
        anEvent("approval.answered", {
          approvalId: question.data.approvalId,
          decision: "once",
          answer: "blue \u0000 ü",
        }),
      ]);
      same(await row(approvalId), { ...shown, ...said });
      same(await row(question.data.approvalId), { kind: "question", answer: "blue \u0000 ü" });
      await other.close();
    },
  },
  {
    title: "what was answered is read from the newest on, page by page, of one session or of all",
    async run({ store }) {
      const chat = await openSession(store);
      const other = await openSession(store, {}, chat.owner);
      const first = await askAll(chat, 3);
      const second = await askAll(other, 1);
      for (const [index, id] of first.entries())
        await chat.commit([anAnswer(id, index === 0 ? "deny" : "once")]);
      await other.commit([anAnswer(present(second[0]), "session")]);
      const read = async (query: { readonly session?: OpenSession["session"] }) => {
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
      same(all.toSorted(), [...first, ...second].toSorted());
      const rows = await Promise.all(all.map((id) => store.reads.approval(chat.owner, id)));
      const times = rows.map((row) => present(row).answeredAt ?? 0);
      same(
        times,
        times.toSorted((a, b) => b - a),
      );
      same((await read({ session: chat.session })).toSorted(), first.toSorted());
      same(await read({ session: ids.make("session") }), []);
      same((await store.reads.answered(anOwner(), { limit: 9 })).approvals, []);
    },
  },
];
