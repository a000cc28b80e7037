import type { RunOutputItem } from "../run-output/item.ts";
import { describeEnd, endOfRun, type RunEnd } from "../run-output/run-end.ts";
import { waitingMark } from "./compare-history.ts";
import type { Refusal } from "./errors.ts";

/** Sums what the calls of a run used. */
export class UsageSum {
  input = 0;
  output = 0;
  cached = 0;

  add({ usage }: Extract<RunOutputItem, { kind: "usage" }>): void {
    this.input += usage.input;
    this.output += usage.output;
    this.cached += usage.cacheRead ?? 0;
  }

  forChat() {
    return {
      prompt_tokens: this.input,
      completion_tokens: this.output,
      total_tokens: this.input + this.output,
      prompt_tokens_details: { cached_tokens: this.cached },
    };
  }

  forResponses() {
    return {
      input_tokens: this.input,
      input_tokens_details: { cached_tokens: this.cached, cache_write_tokens: 0 },
      output_tokens: this.output,
      output_tokens_details: { reasoning_tokens: 0 },
      total_tokens: this.input + this.output,
    };
  }
}

/** What a chat client shows of an item: words of the answer, or thoughts. */
export class ChatText {
  #last: string | null = null;
  #isEmpty = true;

  /** The text to append. Parts are paragraphs of their own. */
  append({
    messageId,
    part,
    text,
  }: Extract<RunOutputItem, { kind: "text" | "reasoning" }>): string {
    const source = `${messageId} ${part}`;
    const begins = this.#last !== null && this.#last !== source && !this.#isEmpty;
    this.#last = source;
    this.#isEmpty = false;
    return begins ? `\n\n${text}` : text;
  }
}

/** Progress for clients that know Holdfast; others skip a chunk without choices. Never part of the answer. */
export function progressOf(item: RunOutputItem): Readonly<Record<string, unknown>> | null {
  const { seq } = item;
  switch (item.kind) {
    case "tool_started":
      return {
        type: "tool.started",
        seq,
        call_id: item.callId,
        name: item.name,
        input: item.input,
      };
    case "tool_ended":
      return {
        type: "tool.ended",
        seq,
        call_id: item.callId,
        name: item.name,
        outcome: item.outcome,
      };
    case "approval_asked": {
      const { approvalId, name, input, shown } = item.approval;
      const type = item.isQuestion ? "question.asked" : "approval.asked";
      return {
        type,
        seq,
        approval_id: approvalId,
        name,
        input,
        ...(shown !== undefined && { shown }),
      };
    }
    case "approval_answered":
      return {
        type: "approval.answered",
        seq,
        approval_id: item.approvalId,
        decision: item.decision,
      };
    case "notice":
      return { type: "notice", seq, kind: item.notice, text: item.text };
    case "asked_again":
      return { type: "asked_again", seq };
    default:
      return null;
  }
}

/** One line, at the end of what a client has so far. */
export function waitingLine({
  isQuestion,
  approval,
}: Extract<RunOutputItem, { kind: "approval_asked" }>): string {
  const what = isQuestion ? "an answer to a question" : `approval of ${approval.name}`;
  return `${waitingMark}Waiting for ${what}: answer ${approval.approvalId} on the page or with holdfast approvals. The run goes on then.`;
}

type EndedRun = Extract<RunOutputItem, { kind: "ended" }>;

interface FailedRun {
  readonly code: string;
  readonly message: string;
}

/** A code of ours, and a sentence that says what to do next. */
export function describeFailure(ended: EndedRun, notice: string | undefined): FailedRun {
  const { state, cause } = ended;
  return {
    code: cause ?? state,
    message: `${notice ?? describeEnd(ended)} ${nextSteps.get(endOfRun(ended)) ?? "Look at the session for what was done."}`,
  };
}

const nextSteps: ReadonlyMap<RunEnd, string> = new Map([
  [
    "run_limit",
    "What it has done is in the session: send another message to go on, or raise the limit.",
  ],
  ["spend_limit", "Raise the limit, or ask again later."],
]);

type ChatEnd =
  | { readonly finish: "stop" | "length" | "content_filter" }
  | { readonly failure: Refusal };

/** How a chat completion ends. One that was stopped by hand ends like any other. */
export function chatEndOf(ended: EndedRun, notice: string | undefined): ChatEnd {
  switch (endOfRun(ended)) {
    case "completed":
    case "cancelled":
      return { finish: "stop" };
    case "output_limit":
    case "run_limit":
      return { finish: "length" };
    case "filtered":
      return { finish: "content_filter" };
    case "spend_limit":
      return { failure: { status: 429, ...describeFailure(ended, notice) } };
    case "failed":
      return { failure: { status: 500, ...describeFailure(ended, notice) } };
  }
}
