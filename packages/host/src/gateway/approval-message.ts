import type { ApprovalRow } from "@holdfast/engine";
import { quote, showControls } from "../util/text/show-controls.ts";
import type { OutgoingText } from "./adapter.ts";
import { botStrings } from "./strings.ts";
import {
  type ApprovalAnswer,
  type ApprovalDetails,
  type ApprovalId,
  approvalId,
  describeTaint,
  questionOf,
} from "@holdfast/protocol";

/** Telegram takes 4,096 characters, and a person reads this much in a chat. */
const maxShownLength = 3_000;

const maxLabelLength = 60;

const answerCodes: readonly (readonly [string, ApprovalAnswer, string])[] = [
  ["o", "once", botStrings.approval.once],
  ["s", "session", botStrings.approval.session],
  ["d", "deny", botStrings.approval.deny],
];

const texts = botStrings.approval;
const outcomeTexts: Readonly<Record<string, string>> = texts.outcomes;

/** Where an approval can be answered: in the chat that shows it, or only elsewhere. */
export type AnswerPlace = "here" | "elsewhere";

/** A question with its buttons while it is open, and its outcome afterwards. */
export function approvalMessage(
  approval: ApprovalRow,
  answered: AnswerPlace = "here",
): OutgoingText {
  const { id, tool, input, details, state, decision } = approval;
  if (details.plan === true) return planMessage(approval, answered);
  if (details.kind === "question") return questionMessage(approval, `a:d:${id}`);
  const shown = `${details.shown ?? showControls(JSON.stringify(input, null, 2))}${filesOf(details)}`;
  const fits = shown.length <= maxShownLength && details.hidden === undefined;
  const excerpt = fits ? shown : shown.slice(0, maxShownLength).toWellFormed();
  const notes = (details.notes ?? []).map((note) => `\n⚠ ${asPlainText(note)}`).join("");
  const after = details.after ?? [];
  const why = after.length === 0 ? "" : texts.after(asPlainText(describeTaint(after)));
  const question = `${texts.wantsToRun(tool, why)}\n\`\`\`\n${withoutFences(excerpt)}\n\`\`\`${notes}`;
  const rest = fits ? "" : `\n⚠ ${texts.more(shown.length - excerpt.length, texts.review)}`;
  const { sandbox } = details;
  const mark = sandbox?.kind === "none" ? "⚠ " : "";
  const confined = sandbox === undefined ? "" : `\n${mark}${showControls(sandbox.words)}`;
  if (state === "open" && answered === "elsewhere")
    return { text: `${question}${confined}${rest}\n${texts.elsewhere}` };
  if (state === "open") {
    // Nobody may allow what they were not fully shown.
    const offered = answerCodes.filter(
      ([, answer]) =>
        answer === "deny" || (fits && (answer === "once" || details.onceOnly !== true)),
    );
    const buttons = offered.map(([code, , label]) => [{ label, data: `a:${code}:${id}` }]);
    return { text: question + confined + rest, buttons };
  }
  const outcome = outcomeTexts[decision ?? ""] ?? texts.obsolete;
  return { text: `${question}\n${outcome}` };
}

/** What the call would load, so that the person knows what the yes is bound to. */
function filesOf({ files = [] }: ApprovalDetails): string {
  return files
    .map(({ path, hash }) => `\n${texts.loads(quote(path), hash?.slice(0, 19) ?? texts.missing)}`)
    .join("");
}

/** On one line and without markup: a name that a stranger chose must not pass for a part of the question. */
function asPlainText(text: string): string {
  return showControls(text.replace(/\s+/g, " ")).replace(/[*_`~[\]()<>#|]/g, "\\$&");
}

/** Written as escapes, so that the text cannot end the block that it is in. */
function withoutFences(text: string): string {
  return text.replaceAll(/`{3,}/g, (fence) => "\\u{0060}".repeat(fence.length));
}

/** A question from the model with a button per choice. The person may instead type an answer as their next message. */
function questionMessage(approval: ApprovalRow, refusal: string): OutgoingText {
  const { id, input, state, details, decision } = approval;
  const question = showControls(questionOf(details, input)?.question ?? JSON.stringify(input));
  if (state !== "open")
    return { text: `❓ ${question}\n${describeOutcome(decision, details.answer)}` };
  const buttons = choicesOf(approval).map((choice, index) => [
    { label: labelFor(choice), data: `q:${index}:${id}` },
  ]);
  return {
    text: `❓ ${question}\n${botStrings.question.write}`,
    buttons: [...buttons, [{ label: botStrings.question.skip, data: refusal }]],
  };
}

/** Whether a chat can show the whole plan: nobody approves what they were not fully shown. */
export function isPlanShownWhole({ details, input }: ApprovalRow): boolean {
  const plan = questionOf(details, input)?.question;
  return plan !== undefined && showControls(plan).length <= maxShownLength;
}

/** A plan with a button for each mode to go on in. Written words are a comment. */
function planMessage(approval: ApprovalRow, answered: AnswerPlace): OutgoingText {
  const { id, input, state, details, decision } = approval;
  const plan = showControls(questionOf(details, input)?.question ?? JSON.stringify(input));
  const isWhole = isPlanShownWhole(approval);
  const excerpt = isWhole ? plan : plan.slice(0, maxShownLength).toWellFormed();
  const after = details.after ?? [];
  const why = after.length === 0 ? "" : texts.after(asPlainText(describeTaint(after)));
  // Without markup, so that nothing of it is hidden behind a link or a style.
  const text = `${botStrings.plan.title(why)}\n\`\`\`\n${withoutFences(excerpt)}\n\`\`\``;
  if (state !== "open") return { text: `${text}\n${describeOutcome(decision, details.answer)}` };
  if (answered === "elsewhere") return { text: `${text}\n\n${botStrings.plan.elsewhere}` };
  const refuse = [{ label: botStrings.plan.refuse, data: `a:d:${id}` }];
  if (!isWhole) {
    const rest = `\n⚠ ${texts.more(plan.length - excerpt.length, botStrings.plan.review)}`;
    return { text: text + rest, buttons: [refuse] };
  }
  const buttons = choicesOf(approval).map((choice, index) => [
    { label: labelFor(choice), data: `q:${index}:${id}` },
  ]);
  return { text: `${text}\n\n${botStrings.plan.hint}`, buttons: [...buttons, refuse] };
}

function labelFor(choice: string): string {
  const shown = showControls(choice);
  return shown.length <= maxLabelLength
    ? shown
    : `${shown.slice(0, maxLabelLength - 1).toWellFormed()}…`;
}

function describeOutcome(decision: ApprovalRow["decision"], answer: string | undefined): string {
  if (decision === "once" && answer !== undefined) return `✔ ${showControls(answer)}`;
  if (decision === "deny") return texts.skipped;
  return decision === "expired" ? texts.outcomes.expired : texts.obsolete;
}

/** The question's choices, in button order; empty if only free text answers it. */
export function choicesOf(approval: ApprovalRow): readonly string[] {
  const { details, input } = approval;
  if (details.plan === true && !isPlanShownWhole(approval)) return [];
  return questionOf(details, input)?.choices ?? [];
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
