import type { ApprovalRow } from "@holdfast/engine";
import { z } from "zod";

import { showControls } from "../util/text/show-controls.ts";
import type { OutgoingText } from "./adapter.ts";

const questionInput = z.looseObject({
  question: z.string(),
  choices: z.array(z.string()).optional(),
});
const maxLabelLength = 60;

/** What may be chosen, by its number; nothing where a person must find words of their own. */
export function choicesOf({ details, input }: ApprovalRow): readonly string[] {
  return details.kind === "question" ? (questionInput.safeParse(input).data?.choices ?? []) : [];
}

/** A question of the model's with a button for each of its choices; what its asker writes next is the answer in their own words. */
export function questionMessage(approval: ApprovalRow, refusal: string): OutgoingText {
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

const writeAnswerHint = "Write your answer.";

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
