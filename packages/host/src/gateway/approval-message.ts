import type { ApprovalRow } from "@holdfast/engine";
import { z } from "zod";

import { showControls } from "../util/text/show-controls.ts";
import type { Words } from "./adapter.ts";

const asked = z.looseObject({ question: z.string(), choices: z.array(z.string()).optional() });
const longestLabel = 60;

/** What may be chosen, by its number; nothing where a person must find words of their own. */
export function choicesOf({ details, input }: ApprovalRow): readonly string[] {
  return details.kind === "question" ? (asked.safeParse(input).data?.choices ?? []) : [];
}

/** A question of the model's with a button for each of its choices; what its asker writes next is the answer in their own words. */
export function questionWords(approval: ApprovalRow, refusal: string): Words {
  const { id, input, state, details, decision } = approval;
  const question = showControls(asked.safeParse(input).data?.question ?? JSON.stringify(input));
  if (state !== "open") return { text: `❓ ${question}\n${outcomeOf(decision, details.answer)}` };
  const buttons = choicesOf(approval).map((choice, index) => [
    { label: labelFor(choice), data: `q:${index}:${id}` },
  ]);
  return {
    text: `❓ ${question}\n${ownWords}`,
    buttons: [...buttons, [{ label: "Do not answer", data: refusal }]],
  };
}

const ownWords = "Write your answer.";

function labelFor(choice: string): string {
  const shown = showControls(choice);
  return shown.length <= longestLabel
    ? shown
    : `${shown.slice(0, longestLabel - 1).toWellFormed()}…`;
}

function outcomeOf(decision: ApprovalRow["decision"], answer: string | undefined): string {
  if (decision === "once" && answer !== undefined) return `✔ ${showControls(answer)}`;
  if (decision === "deny") return "✘ Not answered.";
  return decision === "expired" ? "✘ Nobody answered in time." : "✘ Not needed any more.";
}
