import type { ApprovalRow } from "@holdfast/engine";
import { type ApprovalAnswer, type ApprovalId, approvalId } from "@holdfast/protocol";

import { showControls } from "../util/text/show-controls.ts";
import type { Words } from "./adapter.ts";
import { questionWords } from "./approval-message.ts";

const longestShown = 3_000;

const letters: readonly (readonly [string, ApprovalAnswer, string])[] = [
  ["o", "once", "Allow once"],
  ["s", "session", "Allow in this session"],
  ["d", "deny", "Deny"],
];

const outcomes: Record<string, string> = {
  once: "✔ Allowed once.",
  session: "✔ Allowed in this session.",
  always: "✔ Allowed from now on.",
  deny: "✘ Denied.",
  expired: "✘ Nobody answered in time.",
};

/** A question with its buttons while it is open, and what became of it afterwards. */
export function approvalWords(approval: ApprovalRow): Words {
  const { id, tool, input, details, state, decision } = approval;
  if (details.kind === "question") return questionWords(approval, `a:d:${id}`);
  const shown = details.shown ?? showControls(JSON.stringify(input, null, 2));
  const fits = shown.length <= longestShown;
  const told = fits ? shown : shown.slice(0, longestShown).toWellFormed();
  const question = `**${tool}** wants to run:\n\`\`\`\n${told.replaceAll("```", "` ` `")}\n\`\`\``;
  const rest = fits ? "" : `\n⚠ ${shown.length - longestShown} more characters. ${elsewhere}`;
  if (state === "open") {
    // Nobody says yes to what they were not shown.
    const offered = fits ? letters : letters.filter(([, answer]) => answer === "deny");
    const buttons = offered.map(([letter, , label]) => [{ label, data: `a:${letter}:${id}` }]);
    return { text: question + rest, buttons };
  }
  const outcome = outcomes[decision ?? ""] ?? "✘ Not needed any more.";
  return { text: `${question}\n${outcome}` };
}

const elsewhere = "Look at the whole on the page or in the terminal, and allow it there.";

export interface PressedAnswer {
  readonly approval: ApprovalId;
  readonly answer: ApprovalAnswer;
  /** Of a question's choices, by its number. */
  readonly choice?: number;
}

/** What a pressed button says; `null` when it is none of ours. */
export function pressedAnswer(data: string): PressedAnswer | null {
  const [kind, letter = "", id] = data.split(":");
  const approval = approvalId.safeParse(id);
  if (!approval.success) return null;
  if (kind === "q" && /^\d{1,2}$/.test(letter))
    return { approval: approval.data, answer: "once", choice: Number(letter) };
  const answer = letters.find(([each]) => each === letter)?.[1];
  return kind === "a" && answer !== undefined ? { approval: approval.data, answer } : null;
}
