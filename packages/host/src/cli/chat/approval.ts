import type { ApprovalAnswer, LiveView } from "@holdfast/protocol";
import { z } from "zod";
import type { RenderStyle } from "../screen/paint.ts";
import { wrapBlock } from "../transcript/rows.ts";
import { describeCall } from "../transcript/describe.ts";

export type OpenApproval = LiveView["approvals"][number];

const decisions: Readonly<Record<string, ApprovalAnswer>> = {
  o: "once",
  y: "once",
  yes: "once",
  once: "once",
  s: "session",
  session: "session",
  a: "always",
  always: "always",
  d: "deny",
  n: "deny",
  no: "deny",
  deny: "deny",
};

export interface ApprovalReply {
  readonly decision: ApprovalAnswer;
  readonly answer?: string;
}

const maxAnswerLength = 10_000;

/** Parses a typed decision; only an exact word counts as a yes. */
function parseDecision(typed: string): ApprovalAnswer | undefined {
  const word = typed.trim().toLowerCase();
  return Object.hasOwn(decisions, word) ? decisions[word] : undefined;
}

const questionInput = z.looseObject({
  question: z.string(),
  choices: z.array(z.string()).optional(),
});

/** The question, if the model asks one; `undefined` if it asks to run something. */
export function questionOf({
  kind,
  input,
}: OpenApproval): z.infer<typeof questionInput> | undefined {
  return kind === "question" ? questionInput.safeParse(input).data : undefined;
}

/** Interprets typed text: a decision about a call, or an answer to a question. */
export function parseReply(typed: string, approval: OpenApproval): ApprovalReply | undefined {
  if (approval.kind !== "question") {
    const decision = parseDecision(typed);
    return decision === undefined ? undefined : { decision };
  }
  const choices = questionOf(approval)?.choices ?? [];
  const numbered = /^\d{1,2}$/.test(typed.trim()) ? choices[Number(typed) - 1] : undefined;
  return { decision: "once", answer: (numbered ?? typed.trim()).slice(0, maxAnswerLength) };
}

/** What exactly would run and where, with how to answer; or the question with its choices. */
export function approvalRows(approval: OpenApproval, style: RenderStyle): string[] {
  const rows = questionRows(approval, style);
  const question = questionOf(approval);
  if (question !== undefined) {
    const choices = (question.choices ?? []).map((choice, index) => `${index + 1}. ${choice}`);
    return [...rows, ...choices.flatMap((choice) => wrapBlock(choice, style, "  ", []))];
  }
  const viewHint = summariseApproval(approval).isTruncated ? " · v shows all of it" : "";
  return [
    ...rows,
    style.paint("dim", `o once · s for this session · a always · d deny${viewHint}`),
  ];
}

/** The same without how to answer. */
export function questionRows(approval: OpenApproval, style: RenderStyle): string[] {
  const question = questionOf(approval);
  if (question !== undefined) return ["", ...wrapBlock(question.question, style, "? ", ["bold"])];
  return [
    "",
    style.paint("bold", "May this run?"),
    ...wrapBlock(summariseApproval(approval).text, style, "  ", ["accent"]),
  ];
}

/** The complete call, however long it is. */
export function fullCallRows({ name, input, place }: OpenApproval, style: RenderStyle): string[] {
  const location = place === undefined ? "" : `\nin ${place}`;
  return wrapBlock(describeCall(name, input) + location, style, "  ", ["accent"]);
}

/** Whether the person wants to see the complete call first. */
export function asksForFullCall(typed: string, { kind }: OpenApproval): boolean {
  return kind !== "question" && ["v", "view", "show"].includes(typed.trim().toLowerCase());
}

/** The host truncates its own description at about this length, and says so in it. */
const maxShownLength = 8_000;

/** The host's own description of the call, if there is one. */
function summariseApproval({ name, input, place, shown }: OpenApproval): {
  readonly text: string;
  readonly isTruncated: boolean;
} {
  if (shown !== undefined) return { text: shown, isTruncated: shown.length >= maxShownLength };
  const text = describeCall(name, input) + (place === undefined ? "" : `\nin ${place}`);
  return { text, isTruncated: false };
}
