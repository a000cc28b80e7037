import { instructionsSource, type RunState, type SessionId } from "@holdfast/protocol";
import type { MarkedItem } from "../run-output/fold.ts";
import type { RunOutputItem } from "../run-output/item.ts";
import { failureOf, UsageSum } from "./chat-output.ts";
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

export interface ResponseEvent {
  readonly type: string;
  readonly [field: string]: unknown;
}

/**
 * Folds a run's output into a response, and says which events show the change. An event's `sequence_number` is the seq
 * of the log: whoever resumes after it misses nothing. Where one entry of the log takes several events, only the last of
 * them has its seq, so that a reader who was cut off between them gets them again; a delta always has its own.
 */
export class ResponseBuilder {
  readonly #address: ResponseAddress;
  readonly #facts: ResponseFacts;
  readonly #items: OutputItem[] = [];
  readonly #texts = new Map<string, string>();
  readonly #usage = new UsageSum();
  #state: RunState = "queued";
  #model: string = ownModel;
  #instructions: string | null = null;
  #notice: string | undefined;
  #ended: Extract<RunOutputItem, { kind: "ended" }> | null = null;
  #callsLeft = 0;

  constructor(address: ResponseAddress, facts: ResponseFacts) {
    this.#address = address;
    this.#facts = facts;
  }

  get isEnded(): boolean {
    return this.#ended !== null;
  }

  /** The first event of a stream. */
  created(): ResponseEvent {
    return this.#responseEvent("response.created", this.#address.begun);
  }

  apply({ item, newFrom }: MarkedItem): readonly ResponseEvent[] {
    const events = this.#eventsOf(item, newFrom ?? 0);
    return newFrom === null ? [] : events;
  }

  #eventsOf(item: RunOutputItem, newFrom: number): readonly ResponseEvent[] {
    const { seq } = item;
    switch (item.kind) {
      case "state": {
        const isFirst = this.#state === "queued";
        this.#state = item.state;
        return isFirst ? [this.#responseEvent("response.in_progress", seq)] : [];
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
      case "text":
      case "reasoning":
        return this.#grow(item, newFrom);
      case "message":
        return this.#settle(item);
      case "call":
        this.#callsLeft -= 1;
        return [this.#added(toolItem(item), this.#callsLeft > 0 ? seq - 1 : seq)];
      case "tool_ended": {
        const status = item.outcome === "ok" ? "completed" : "incomplete";
        const { outcome, output } = item;
        return this.#change(item.callId, seq, (tool) =>
          tool.type === "holdfast:tool_call" ? { ...tool, status, outcome, output } : tool,
        );
      }
      case "approval_asked":
        return [this.#added(approvalItem(item), seq)];
      case "approval_answered":
        return this.#change(item.approvalId, seq, (asked) =>
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
        return [this.#responseEvent(finalEvents[item.state] ?? "response.incomplete", seq)];
      default:
        return [];
    }
  }

  #grow(
    { kind, messageId, part, text, seq }: Extract<RunOutputItem, { kind: "text" | "reasoning" }>,
    newFrom: number,
  ): readonly ResponseEvent[] {
    const id = textItemId(kind, messageId, part);
    const begins = !this.#texts.has(id);
    const whole = (this.#texts.get(id) ?? "") + text;
    this.#texts.set(id, whole);
    const opened = begins
      ? [
          this.#added(textItem(kind, id, "in_progress", null), seq - 1),
          this.#part("added", kind, id, "", seq - 1),
        ]
      : [];
    this.#replace(id, textItem(kind, id, "in_progress", whole));
    const delta: ResponseEvent = {
      type: kind === "text" ? "response.output_text.delta" : "response.reasoning_text.delta",
      ...this.#place(id),
      delta: text.slice(newFrom),
      ...(kind === "text" && { logprobs: [] }),
      sequence_number: seq,
    };
    return [...opened, delta];
  }

  /** Closes the items of the message. If it ended early, they say so. */
  #settle(item: Extract<RunOutputItem, { kind: "message" }>): readonly ResponseEvent[] {
    const { seq, messageId, parts, partial } = item;
    this.#callsLeft = parts.filter(({ type }) => type === "tool_call").length;
    const texts = parts.filter((part) => part.type === "text" || part.type === "reasoning");
    const status = partial === undefined ? "completed" : "incomplete";
    const closed = texts.flatMap(({ type: kind, text }, part) => {
      const id = textItemId(kind, messageId, part);
      if (!this.#texts.has(id)) return [];
      const done = textItem(kind, id, status, text);
      this.#replace(id, done);
      return [
        {
          type: kind === "text" ? "response.output_text.done" : "response.reasoning_text.done",
          ...this.#place(id),
          text,
          ...(kind === "text" && { logprobs: [] }),
          sequence_number: seq - 1,
        },
        this.#part("done", kind, id, text, seq - 1),
        this.#done(done, seq - 1),
      ];
    });
    const last = closed.at(-1);
    if (last === undefined || this.#callsLeft > 0) return closed;
    return [...closed.slice(0, -1), { ...last, sequence_number: seq }];
  }

  #notify(item: Extract<RunOutputItem, { kind: "notice" }>): readonly ResponseEvent[] {
    const { noticeId: id, notice: kind, text, seq } = item;
    this.#notice = text;
    const notice: OutputItem = { id, type: "holdfast:notice", status: "completed", kind, text };
    if (this.#items.some((known) => known.id === id)) {
      this.#replace(id, notice);
      return [];
    }
    return [this.#added(notice, seq - 1), this.#done(notice, seq)];
  }

  #change(
    id: string,
    seq: number,
    change: (item: OutputItem) => OutputItem,
  ): readonly ResponseEvent[] {
    const item = this.#items.find((candidate) => candidate.id === id);
    if (item === undefined) return [];
    const changed = change(item);
    this.#replace(id, changed);
    return [this.#done(changed, seq)];
  }

  #replace(id: string, item: OutputItem): void {
    const index = this.#items.findIndex((candidate) => candidate.id === id);
    if (index !== -1) this.#items[index] = item;
  }

  #added(item: OutputItem, seq: number): ResponseEvent {
    this.#items.push(item);
    return {
      type: "response.output_item.added",
      output_index: this.#items.length - 1,
      item,
      sequence_number: seq,
    };
  }

  #done(item: OutputItem, seq: number): ResponseEvent {
    const output_index = this.#items.findIndex(({ id }) => id === item.id);
    return { type: "response.output_item.done", output_index, item, sequence_number: seq };
  }

  #place(id: string) {
    const output_index = this.#items.findIndex((item) => item.id === id);
    return { item_id: id, output_index, content_index: 0 };
  }

  #part(
    what: "added" | "done",
    kind: "text" | "reasoning",
    id: string,
    text: string,
    seq: number,
  ): ResponseEvent {
    return {
      type: `response.content_part.${what}`,
      ...this.#place(id),
      part: kind === "text" ? textPart(text) : reasoningPart(text),
      sequence_number: seq,
    };
  }

  #responseEvent(type: string, seq: number): ResponseEvent {
    return { type, response: this.response(), sequence_number: seq };
  }

  /** The response as it is now. Fields that Holdfast has no use for have the protocol's defaults. */
  response() {
    const { metadata, background, previous } = this.#facts;
    const ended = this.#ended;
    const failure = ended === null ? null : failureOf(ended, this.#notice);
    return {
      id: responseId(this.#address),
      object: "response",
      created_at: Math.floor(this.#address.createdAt / 1000),
      completed_at: ended === null ? null : Math.floor(ended.at / 1000),
      status: statuses[this.#state],
      background,
      conversation: { id: conversationId(this.#address.session) },
      error: failure,
      incomplete_details: this.#state === "limit" ? { reason: ended?.cause ?? "limit" } : null,
      instructions: this.#instructions,
      max_output_tokens: null,
      max_tool_calls: null,
      metadata,
      model: this.#model,
      output: [...this.#items],
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

const statuses: Record<RunState, string> = {
  queued: "queued",
  claimed: "in_progress",
  running: "in_progress",
  waiting: "in_progress",
  paused: "in_progress",
  completed: "completed",
  cancelled: "cancelled",
  failed: "failed",
  interrupted: "failed",
  limit: "incomplete",
};

const finalEvents: Partial<Record<RunState, string>> = {
  completed: "response.completed",
  failed: "response.failed",
  interrupted: "response.failed",
};
