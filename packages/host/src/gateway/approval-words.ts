import type { ApprovalRow } from "@holdfast/engine";
import { type ApprovalAnswer, type ApprovalId, approvalId } from "@holdfast/protocol";

import { showControls } from "../util/text/show-controls.ts";
import type { OutgoingText } from "./adapter.ts";
import { questionMessage } from "./approval-message.ts";

const maxShownLength = 3_000;

const answerCodes: readonly (readonly [string, ApprovalAnswer, string])[] = [
  ["o", "once", "Allow once"],
  ["s", "session", "Allow in this session"],
  ["d", "deny", "Deny"],
];

const outcomeTexts: Record<string, string> = {
  once: "✔ Allowed once.",
  session: "✔ Allowed in this session.",
  always: "✔ Allowed from now on.",
  deny: "✘ Denied.",
  expired: "✘ Nobody answered in time.",
};

/** A question with its buttons while it is open, and what became of it afterwards. */
export function approvalMessage(approval: ApprovalRow): OutgoingText {
  const { id, tool, input, details, state, decision } = approval;
  if (details.kind === "question") return questionMessage(approval, `a:d:${id}`);
  const shown = details.shown ?? showControls(JSON.stringify(input, null, 2));
  const fits = shown.length <= maxShownLength;
  const told = fits ? shown : shown.slice(0, maxShownLength).toWellFormed();
  const question = `**${tool}** wants to run:\n\`\`\`\n${told.replaceAll("```", "` ` `")}\n\`\`\``;
  const rest = fits
    ? ""
    : `\n⚠ ${shown.length - maxShownLength} more characters. ${reviewElsewhereHint}`;
  if (state === "open") {
    // Nobody says yes to what they were not shown.
    const offered = fits ? answerCodes : answerCodes.filter(([, answer]) => answer === "deny");
    const buttons = offered.map(([letter, , label]) => [{ label, data: `a:${letter}:${id}` }]);
    return { text: question + rest, buttons };
  }
  const outcome = outcomeTexts[decision ?? ""] ?? "✘ Not needed any more.";
  return { text: `${question}\n${outcome}` };
}

const reviewElsewhereHint = "Look at the whole on the page or in the terminal, and allow it there.";

export interface ButtonAnswer {
  readonly approval: ApprovalId;
  readonly answer: ApprovalAnswer;
  /** Of a question's choices, by its number. */
  readonly choice?: number;
}

/** What a pressed button says; `null` when it is none of ours. */
export function parseButtonAnswer(data: string): ButtonAnswer | null {
  const [kind, letter = "", id] = data.split(":");
  const approval = approvalId.safeParse(id);
  if (!approval.success) return null;
  if (kind === "q" && /^\d{1,2}$/.test(letter))
    return { approval: approval.data, answer: "once", choice: Number(letter) };
  const answer = answerCodes.find(([each]) => each === letter)?.[1];
  return kind === "a" && answer !== undefined ? { approval: approval.data, answer } : null;
}
