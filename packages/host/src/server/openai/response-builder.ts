import { instructionsSource, type RunState, type Seq, type SessionId } from "@holdfast/protocol";
import type { MarkedItem } from "../run-output/fold.ts";
import type { RunOutputItem } from "../run-output/item.ts";
import { endOfRun } from "../run-output/run-end.ts";
import { describeFailure, UsageSum } from "./chat-output.ts";
import { EventNumbers } from "./event-numbers.ts";
import { conversationId, responseId, type RunAddress } from "./identifiers.ts";
import { ownModel } from "./models.ts";
import {
  approvalItem,
  type OutputItem,
  reasoningPart,
  textItem,
  textItemId,
  textPart,
  toolItem,
} from "./output-items.ts";

export interface ResponseFacts {
  readonly metadata: Readonly<Record<string, string>>;
  readonly background: boolean;
  readonly previous: string | null;
}

interface ResponseAddress extends RunAddress {
  readonly session: SessionId;
  readonly createdAt: number;
}

interface UnnumberedEvent {
  readonly type: string;
  readonly [field: string]: unknown;
}

export interface ResponseEvent extends UnnumberedEvent {
  readonly sequence_number: number;
}

type TextOutput = Extract<RunOutputItem, { kind: "text" | "reasoning" }>;

interface OpenText {
  readonly kind: TextOutput["kind"];
  readonly id: string;
  readonly index: number;
  text: string;
}

/**
 * Folds a run's output into a response, and says which events show the change. As in OpenAI's own streams, an item is
 * done before the next one of the same message begins.
 */
export class ResponseBuilder {
  readonly #address: ResponseAddress;
  readonly #facts: ResponseFacts;
  /** The number of the last event that the reader has. */
  readonly #after: number;
  readonly #numbers = new EventNumbers();
  readonly #items: OutputItem[] = [];
  readonly #usage = new UsageSum();
  #open: OpenText | null = null;
  #state: RunState = "queued";
  #model: string = ownModel;
  #instructions: string | null = null;
  #notice: string | undefined;
  #ended: Extract<RunOutputItem, { kind: "ended" }> | null = null;

  constructor(address: ResponseAddress, facts: ResponseFacts, after = -1) {
    this.#address = address;
    this.#facts = facts;
    this.#after = after;
  }

  get isEnded(): boolean {
    return this.#ended !== null;
  }

  /** The first event of a stream. */
  created(): readonly ResponseEvent[] {
    return this.#number([this.#responseEvent("response.created")], this.#address.begun);
  }

  /** The events that are new to the reader. */
  apply({ item, newFrom, firstDelta }: MarkedItem): readonly ResponseEvent[] {
    if (item.kind !== "text" && item.kind !== "reasoning")
      return this.#number(this.#eventsOf(item), item.seq);
    const opening = this.#number(this.#begin(item), firstDelta ?? item.seq);
    const delta = this.#grow(item, newFrom ?? item.text.length);
    const number =
      firstDelta === null ? this.#numbers.next(item.seq) : this.#numbers.nextDelta(item.seq);
    if (newFrom === null || number <= this.#after) return opening;
    return [...opening, { ...delta, sequence_number: number }];
  }

  #number(events: readonly UnnumberedEvent[], seq: Seq): readonly ResponseEvent[] {
    return events
      .map((event) => ({ ...event, sequence_number: this.#numbers.next(seq) }))
      .filter((event) => event.sequence_number > this.#after);
  }

  #eventsOf(item: Exclude<RunOutputItem, TextOutput>): readonly UnnumberedEvent[] {
    switch (item.kind) {
      case "state": {
        const isFirst = this.#state === "queued";
        this.#state = item.state;
        return isFirst ? [this.#responseEvent("response.in_progress")] : [];
      }
      case "input": {
        const given = item.parts.find(
          (part) => part.type === "attached" && part.source === instructionsSource,
        );
        if (given?.type === "attached") this.#instructions = given.text;
        return [];
      }
      case "step":
        this.#model = item.model;
        return [];
      case "message":
        return this.#close(item.partial === undefined ? "completed" : "incomplete");
      case "call":
        return [this.#added(toolItem(item))];
      case "tool_ended": {
        const status = item.outcome === "ok" ? "completed" : "incomplete";
        const { outcome, output } = item;
        return this.#change(item.callId, (tool) =>
          tool.type === "holdfast:tool_call" ? { ...tool, status, outcome, output } : tool,
        );
      }
      case "approval_asked":
        return [this.#added(approvalItem(item))];
      case "approval_answered":
        return this.#change(item.approvalId, (asked) =>
          asked.type === "holdfast:approval"
            ? { ...asked, status: "completed", decision: item.decision }
            : asked,
        );
      case "notice":
        return this.#notify(item);
      case "usage":
        this.#usage.add(item);
        return [];
      case "ended":
        this.#ended = item;
        this.#state = item.state;
        return [this.#responseEvent(finalEvents[statusOf(item)] ?? "response.incomplete")];
      default:
        return [];
    }
  }

  #begin({ kind, messageId, part }: TextOutput): readonly UnnumberedEvent[] {
    const id = textItemId(kind, messageId, part);
    if (this.#open?.id === id) return [];
    const closed = this.#close("completed");
    this.#open = { kind, id, index: this.#items.length, text: "" };
    const added = this.#added(textItem(kind, id, "in_progress", null));
    return [...closed, added, partEvent("added", this.#open)];
  }

  #grow({ kind, text }: TextOutput, newFrom: number): UnnumberedEvent {
    const open = this.#open ?? { id: "", index: 0, text: "" };
    open.text += text;
    return {
      type: kind === "text" ? "response.output_text.delta" : "response.reasoning_text.delta",
      item_id: open.id,
      output_index: open.index,
      content_index: 0,
      delta: newFrom === 0 ? text : text.slice(newFrom),
      ...(kind === "text" && { logprobs: [] }),
    };
  }

  /** The item that grew last is done. If its message ended early, it says so. */
  #close(status: "completed" | "incomplete"): readonly UnnumberedEvent[] {
    const open = this.#open;
    if (open === null) return [];
    this.#open = null;
    const { kind, id, index, text } = open;
    const item = textItem(kind, id, status, text);
    this.#items[index] = item;
    return [
      {
        type: kind === "text" ? "response.output_text.done" : "response.reasoning_text.done",
        ...placeOf(open),
        text,
        ...(kind === "text" && { logprobs: [] }),
      },
      partEvent("done", open),
      { type: "response.output_item.done", output_index: index, item },
    ];
  }

  #notify(item: Extract<RunOutputItem, { kind: "notice" }>): readonly UnnumberedEvent[] {
    const { noticeId: id, notice: kind, text } = item;
    this.#notice = text;
    const notice: OutputItem = { id, type: "holdfast:notice", status: "completed", kind, text };
    const known = this.#items.findIndex((candidate) => candidate.id === id);
    if (known !== -1) {
      this.#items[known] = notice;
      return [];
    }
    const added = this.#added(notice);
    return [added, { ...added, type: "response.output_item.done" }];
  }

  #change(id: string, change: (item: OutputItem) => OutputItem): readonly UnnumberedEvent[] {
    const output_index = this.#items.findIndex((candidate) => candidate.id === id);
    const known = this.#items[output_index];
    if (known === undefined) return [];
    const item = change(known);
    this.#items[output_index] = item;
    return [{ type: "response.output_item.done", output_index, item }];
  }

  #added(item: OutputItem): UnnumberedEvent {
    const output_index = this.#items.push(item) - 1;
    return { type: "response.output_item.added", output_index, item };
  }

  #responseEvent(type: string): UnnumberedEvent {
    return { type, response: this.response() };
  }

  /** The item that still grows with the text that it has. */
  #output(): readonly OutputItem[] {
    if (this.#open === null) return [...this.#items];
    const { kind, id, index, text } = this.#open;
    return this.#items.with(index, textItem(kind, id, "in_progress", text === "" ? null : text));
  }

  /** The response as it is now. Fields that Holdfast has no use for have the protocol's defaults. */
  response() {
    const { metadata, background, previous } = this.#facts;
    const ended = this.#ended;
    return {
      id: responseId(this.#address),
      object: "response",
      created_at: Math.floor(this.#address.createdAt / 1000),
      completed_at: ended === null ? null : Math.floor(ended.at / 1000),
      status:
        ended === null ? (this.#state === "queued" ? "queued" : "in_progress") : statusOf(ended),
      background,
      conversation: { id: conversationId(this.#address.session) },
      error: ended === null ? null : errorOfRun(ended, this.#notice),
      incomplete_details: ended === null ? null : incompleteDetails(ended),
      instructions: this.#instructions,
      max_output_tokens: null,
      max_tool_calls: null,
      metadata,
      model: this.#model,
      output: this.#output(),
      parallel_tool_calls: true,
      previous_response_id: previous,
      prompt_cache_key: null,
      reasoning: { effort: null, summary: null },
      safety_identifier: null,
      service_tier: "default",
      store: true,
      temperature: 1,
      text: { format: { type: "text" } },
      tool_choice: "auto",
      tools: [],
      top_logprobs: 0,
      top_p: 1,
      frequency_penalty: 0,
      presence_penalty: 0,
      truncation: "disabled",
      usage: ended === null ? null : this.#usage.forResponses(),
      user: null,
    };
  }
}

type EndedRun = Extract<RunOutputItem, { kind: "ended" }>;

const finalEvents: Readonly<Record<string, string>> = {
  completed: "response.completed",
  failed: "response.failed",
};

function statusOf(ended: EndedRun): "completed" | "cancelled" | "incomplete" | "failed" {
  const end = endOfRun(ended);
  if (end === "completed" || end === "cancelled") return end;
  return incompleteDetails(ended) === null ? "failed" : "incomplete";
}

/** The protocol knows these reasons alone; every other early end is a failure with a code. */
function incompleteDetails(ended: EndedRun): { readonly reason: string } | null {
  const end = endOfRun(ended);
  if (end === "output_limit") return { reason: "max_output_tokens" };
  return end === "filtered" ? { reason: "content_filter" } : null;
}

/** The protocol lists its codes; Holdfast's own is the error's type. */
function errorOfRun(ended: EndedRun, notice: string | undefined) {
  if (statusOf(ended) !== "failed") return null;
  const { code: type, message } = describeFailure(ended, notice);
  const isQuota = endOfRun(ended) === "spend_limit" || quotaCodes.has(type);
  return { code: isQuota ? "rate_limit_exceeded" : "server_error", type, message };
}

const quotaCodes: ReadonlySet<string> = new Set(["spend", "model_overloaded", "model_no_credit"]);

function placeOf({ id, index }: OpenText) {
  return { item_id: id, output_index: index, content_index: 0 };
}

function partEvent(what: "added" | "done", open: OpenText): UnnumberedEvent {
  return {
    type: `response.content_part.${what}`,
    ...placeOf(open),
    part: open.kind === "text" ? textPart(open.text) : reasoningPart(open.text),
  };
}
