import type { ApprovalAnswer, LiveView } from "@holdfast/protocol";
import { z } from "zod";
import type { RenderStyle } from "../screen/markdown.ts";
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

/** A person's word in the letters that they typed; nothing is taken for a yes that is none. */
function parseDecision(typed: string): ApprovalAnswer | undefined {
  const word = typed.trim().toLowerCase();
  return Object.hasOwn(decisions, word) ? decisions[word] : undefined;
}

const questionInput = z.looseObject({
  question: z.string(),
  choices: z.array(z.string()).optional(),
});

/** What is asked, where a model asks a person something; nothing where it asks to do something. */
export function questionOf({
  kind,
  input,
}: OpenApproval): z.infer<typeof questionInput> | undefined {
  return kind === "question" ? questionInput.safeParse(input).data : undefined;
}

/** What a person's words are to what asks: a yes or a no to a call, an answer to a question. */
export function parseReply(typed: string, approval: OpenApproval): ApprovalReply | undefined {
  if (approval.kind !== "question") {
    const decision = parseDecision(typed);
    return decision === undefined ? undefined : { decision };
  }
  const choices = questionOf(approval)?.choices ?? [];
  const numbered = /^\d{1,2}$/.test(typed.trim()) ? choices[Number(typed) - 1] : undefined;
  return { decision: "once", answer: (numbered ?? typed.trim()).slice(0, maxAnswerLength) };
}

/** Exactly what would run, and where, and how to say yes or no; or the question, and what may be chosen. */
export function approvalRows(approval: OpenApproval, look: RenderStyle): string[] {
  const asked = questionRows(approval, look);
  const question = questionOf(approval);
  if (question !== undefined) {
    const choices = (question.choices ?? []).map((choice, index) => `${index + 1}. ${choice}`);
    return [...asked, ...choices.flatMap((choice) => wrapBlock(choice, look, "  ", []))];
  }
  const more = summariseApproval(approval).hides ? " · v shows all of it" : "";
  return [...asked, look.paint("dim", `o once · s for this session · a always · d deny${more}`)];
}

/** The same without a word of how it is answered. */
export function questionRows(approval: OpenApproval, look: RenderStyle): string[] {
  const asked = questionOf(approval);
  if (asked !== undefined) return ["", ...wrapBlock(asked.question, look, "? ", ["bold"])];
  return [
    "",
    look.paint("bold", "May this run?"),
    ...wrapBlock(summariseApproval(approval).words, look, "  ", ["accent"]),
  ];
}

/** All that would run, however long it is. */
export function fullCallRows({ name, input, place }: OpenApproval, look: RenderStyle): string[] {
  const where = place === undefined ? "" : `\nin ${place}`;
  return wrapBlock(describeCall(name, input) + where, look, "  ", ["accent"]);
}

/** Whether a person wants to see it before they decide. */
export function asksForFullCall(typed: string, { kind }: OpenApproval): boolean {
  return kind !== "question" && ["v", "view", "show"].includes(typed.trim().toLowerCase());
}

/** The host cuts its own words at about this length, and says so in them. */
const maxShownLength = 8_000;

/** The host's own words for it where it has some. */
function summariseApproval({ name, input, place, shown }: OpenApproval): {
  readonly words: string;
  readonly hides: boolean;
} {
  if (shown !== undefined) return { words: shown, hides: shown.length >= maxShownLength };
  const words = describeCall(name, input) + (place === undefined ? "" : `\nin ${place}`);
  return { words, hides: false };
}
