import type { ApprovalRow } from "@holdfast/engine";
import { type ApprovalAnswer, type ApprovalId, approvalId } from "@holdfast/protocol";

import type { Words } from "./adapter.ts";

const longestInput = 1_500;

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

/** A question with its buttons while it is open, and what became of it afterwards. The buttons are the asker's alone. */
export function approvalWords(approval: ApprovalRow, asker: string | null): Words {
  const input = JSON.stringify(approval.input, null, 2).slice(0, longestInput);
  const question = `**${approval.tool}** wants to run:\n\`\`\`json\n${input.replaceAll("```", "` ` `")}\n\`\`\``;
  if (approval.state === "open") {
    const buttons = letters.map(([letter, , label]) => [
      { label, data: `a:${letter}:${approval.id}:${asker ?? ""}` },
    ]);
    return { text: question, buttons };
  }
  const outcome = outcomes[approval.decision ?? ""] ?? "✘ Not needed any more.";
  return { text: `${question}\n${outcome}` };
}

export interface PressedAnswer {
  readonly approval: ApprovalId;
  readonly answer: ApprovalAnswer;
  /** Whose button it is; `null` when it is everybody's. */
  readonly asker: string | null;
}

/** What a pressed button says; `null` when it is none of ours. */
export function pressedAnswer(data: string): PressedAnswer | null {
  const [kind, letter, id, asker = ""] = data.split(":");
  const answer = letters.find(([each]) => each === letter)?.[1];
  const approval = approvalId.safeParse(id);
  return kind === "a" && answer !== undefined && approval.success
    ? { approval: approval.data, answer, asker: asker === "" ? null : asker }
    : null;
}
