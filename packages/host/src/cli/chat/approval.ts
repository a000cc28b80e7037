import { readShown } from "@holdfast/client";
import { type ApprovalAnswer, describeTaint } from "@holdfast/protocol";
import type { RenderStyle } from "../screen/paint.ts";
import { cleanLine } from "../screen/text.ts";
import { widthOf } from "../screen/width.ts";
import { wrapBlock } from "../transcript/rows.ts";
import { describeCall } from "../transcript/describe.ts";
import { chatStrings } from "../strings/chat.ts";
import { allowedDecisions, type OpenApproval, questionIn } from "../transcript/open-approval.ts";

const texts = chatStrings.approval;

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

/** Interprets typed text: a decision about a call, with a reason if it is denied, or an answer to a question. */
export function parseReply(typed: string, approval: OpenApproval): ApprovalReply | undefined {
  if (approval.kind !== "question") {
    const reason = /^\s*(?:d|deny)(?::|\s)\s*(\S.*)$/is.exec(typed)?.[1]?.trim();
    if (reason !== undefined) return { decision: "deny", answer: reason.slice(0, maxAnswerLength) };
    const decision = parseDecision(typed);
    const isAllowed = decision !== undefined && allowedDecisions(approval).includes(decision);
    return isAllowed ? { decision } : undefined;
  }
  const choices = questionIn(approval)?.choices ?? [];
  const numbered = /^\d{1,2}$/.test(typed.trim()) ? choices[Number(typed) - 1] : undefined;
  return { decision: "once", answer: (numbered ?? typed.trim()).slice(0, maxAnswerLength) };
}

/** What exactly would run and where, with how to answer; or the question with its choices. */
export function approvalRows(approval: OpenApproval, style: RenderStyle): string[] {
  const rows = questionRows(approval, style);
  const question = questionIn(approval);
  if (question !== undefined) {
    const choices = question.choices.map((choice, index) => `${index + 1}. ${choice}`);
    return [...rows, ...choices.flatMap((choice) => wrapBlock(choice, style, "  ", []))];
  }
  const allowed = allowedDecisions(approval);
  const hints = allowed.map((decision) => texts.hints[decision]);
  const viewHint = allowed.includes("once") ? [] : [texts.hints.view];
  return [...rows, style.paint("dim", [...hints, ...viewHint].join(" · "))];
}

const titles: Readonly<Record<string, string>> = texts.titles;

function titleOf(approval: OpenApproval): string {
  if (runsCommand(approval)) return texts.command;
  return titles[approval.name] ?? texts.call;
}

/** The same without how to answer. */
export function questionRows(approval: OpenApproval, style: RenderStyle): string[] {
  const question = questionIn(approval);
  if (question !== undefined && approval.plan === true)
    return [
      "",
      style.paint("bold", texts.plan),
      ...taintRows(approval, style),
      ...wrapBlock(question.question, style, "  ", []),
    ];
  if (question !== undefined) return ["", ...wrapBlock(question.question, style, "? ", ["bold"])];
  const { sandbox } = approval;
  return [
    "",
    style.paint("bold", titleOf(approval)),
    ...taintRows(approval, style),
    ...wrapBlock(describeApproval(approval, style.width - 2), style, "  ", ["accent"]),
    ...(approval.notes ?? []).flatMap((note) => wrapBlock(note, style, "! ", ["bad"])),
    ...(allowedDecisions(approval).includes("once")
      ? []
      : wrapBlock(texts.tooLong, style, "! ", ["bad"])),
    ...(sandbox === undefined
      ? []
      : wrapBlock(sandbox.words, style, "", [sandbox.kind === "none" ? "bad" : "dim"])),
  ];
}

/** What a stranger may have had a say in. */
function taintRows({ after = [] }: OpenApproval, style: RenderStyle): string[] {
  if (after.length === 0) return [];
  return wrapBlock(texts.taint(describeTaint(after)), style, "! ", ["bad"]);
}

/** What is said once a reply was accepted. */
export function replyText({ decision, answer }: ApprovalReply): string {
  if (decision === "deny" && answer !== undefined) return cleanLine(texts.deniedBecause(answer));
  return cleanLine(answer ?? texts.answered[decision]);
}

function runsCommand({ input }: OpenApproval): boolean {
  return typeof input === "object" && input !== null && "command" in input;
}

/** The complete call, however long it is. */
export function fullCallRows({ name, input, place }: OpenApproval, style: RenderStyle): string[] {
  const location = place === undefined ? "" : `\n${texts.location(place)}`;
  return wrapBlock(describeCall(name, input) + location, style, "  ", ["accent"]);
}

/** Whether the person wants to see the complete call first. */
export function asksForFullCall(typed: string, { kind }: OpenApproval): boolean {
  return kind !== "question" && ["v", "view", "show"].includes(typed.trim().toLowerCase());
}

/** The host's own description of the call, if there is one, and what the call would load. */
function describeApproval(
  { name, input, place, shown, files = [] }: OpenApproval,
  width: number,
): string {
  const complete = shown ?? describeCall(name, input);
  const { heading, body } = readShown(name, complete);
  const folder = place === undefined ? "" : JSON.stringify(place);
  const where = heading.includes(folder) ? "" : `\n${texts.folder(folder)}`;
  const loaded = files.map(
    ({ path, hash }) =>
      `\n${texts.loads(JSON.stringify(path), hash?.slice(0, 19) ?? texts.missing)}`,
  );
  // A command that takes more than a row keeps one word per row: where a row breaks, a space cannot be seen.
  const isOneRow = heading !== "" && !body.includes("\n") && widthOf(body) <= width;
  const call = isOneRow ? `${heading}\n${body}` : complete;
  return `${call}${where}${loaded.join("")}`;
}
