import { z } from "zod";
import type { ApprovalRow } from "@holdfast/engine";
import { showControls } from "../util/text/show-controls.ts";
import type { OutgoingText } from "./adapter.ts";
import { type ApprovalAnswer, type ApprovalId, approvalId } from "@holdfast/protocol";

const maxShownLength = 3_000;

const maxLabelLength = 60;

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

const reviewElsewhereHint = "Look at the whole on the page or in the terminal, and allow it there.";

const questionInput = z.looseObject({
  question: z.string(),
  choices: z.array(z.string()).optional(),
});

/** A question with its buttons while it is open, and its outcome afterwards. */
export function approvalMessage(approval: ApprovalRow): OutgoingText {
  const { id, tool, input, details, state, decision } = approval;
  if (details.kind === "question") return questionMessage(approval, `a:d:${id}`);
  const shown = details.shown ?? showControls(JSON.stringify(input, null, 2));
  const fits = shown.length <= maxShownLength;
  const excerpt = fits ? shown : shown.slice(0, maxShownLength).toWellFormed();
  const question = `**${tool}** wants to run:\n\`\`\`\n${excerpt.replaceAll("```", "` ` `")}\n\`\`\``;
  const rest = fits
    ? ""
    : `\n⚠ ${shown.length - maxShownLength} more characters. ${reviewElsewhereHint}`;
  if (state === "open") {
    // Nobody may allow what they were not fully shown.
    const offered = fits ? answerCodes : answerCodes.filter(([, answer]) => answer === "deny");
    const buttons = offered.map(([code, , label]) => [{ label, data: `a:${code}:${id}` }]);
    return { text: question + rest, buttons };
  }
  const outcome = outcomeTexts[decision ?? ""] ?? "✘ Not needed any more.";
  return { text: `${question}\n${outcome}` };
}

const writeAnswerHint = "Write your answer.";

/** A question from the model with a button per choice. The person may instead type an answer as their next message. */
function questionMessage(approval: ApprovalRow, refusal: string): OutgoingText {
  const { id, input, state, details, decision } = approval;
  const question = showControls(
    questionInput.safeParse(input).data?.question ?? JSON.stringify(input),
  );
  if (state !== "open")
    return { text: `❓ ${question}\n${describeOutcome(decision, details.answer)}` };
  const buttons = choicesOf(approval).map((choice, index) => [
    { label: labelFor(choice), data: `q:${index}:${id}` },
  ]);
  return {
    text: `❓ ${question}\n${writeAnswerHint}`,
    buttons: [...buttons, [{ label: "Do not answer", data: refusal }]],
  };
}

function labelFor(choice: string): string {
  const shown = showControls(choice);
  return shown.length <= maxLabelLength
    ? shown
    : `${shown.slice(0, maxLabelLength - 1).toWellFormed()}…`;
}

function describeOutcome(decision: ApprovalRow["decision"], answer: string | undefined): string {
  if (decision === "once" && answer !== undefined) return `✔ ${showControls(answer)}`;
  if (decision === "deny") return "✘ Not answered.";
  return decision === "expired" ? "✘ Nobody answered in time." : "✘ Not needed any more.";
}

/** The question's choices, in button order; empty if only free text answers it. */
export function choicesOf({ details, input }: ApprovalRow): readonly string[] {
  return details.kind === "question" ? (questionInput.safeParse(input).data?.choices ?? []) : [];
}

export interface ButtonAnswer {
  readonly approval: ApprovalId;
  readonly answer: ApprovalAnswer;
  /** Index into the question's choices. */
  readonly choice?: number;
}

/** Decodes a pressed button's data; `null` if it is not one of ours. */
export function parseButtonAnswer(data: string): ButtonAnswer | null {
  const [kind, code = "", id] = data.split(":");
  const approval = approvalId.safeParse(id);
  if (!approval.success) return null;
  if (kind === "q" && /^\d{1,2}$/.test(code))
    return { approval: approval.data, answer: "once", choice: Number(code) };
  const answer = answerCodes.find(([known]) => known === code)?.[1];
  return kind === "a" && answer !== undefined ? { approval: approval.data, answer } : null;
}
