import {
  type CallId,
  decodeEvent,
  type EventData,
  type KnownEvent,
  type MessageId,
  type Part,
  type RunId,
  type Seq,
  type StoredEvent,
  terminalStates,
} from "@holdfast/protocol";
import type { RunOutputContent, RunOutputItem } from "./item.ts";

export interface MarkedItem {
  readonly item: RunOutputItem;
  /** `null`: the reader has it. Otherwise where new text begins in an item's text. */
  readonly newFrom: number | null;
  /** The first delta of an item's text; `null` if it never had one. */
  readonly firstDelta: Seq | null;
}

/** What of an item is new to its reader. */
export function newPartOf({ item, newFrom }: MarkedItem): RunOutputItem | null {
  if (newFrom === null) return null;
  return "text" in item && newFrom > 0 ? { ...item, text: item.text.slice(newFrom) } : item;
}

/**
 * A run's output from its session's events. Give it every event of the session from before the run's first one: seqs
 * are dense, so a gap shows where deltas were pruned, and the text comes from the message that settles them instead.
 * Items up to the reader's cursor are left out.
 */
export class RunOutputFold {
  readonly #runId: RunId;
  readonly #cursor: Seq;
  #last: Seq;
  /** Deltas of the open message are missing: what follows of them waits for the whole message. */
  #hasGap = false;
  #open: OpenText | null = null;
  #endedEarly: MessageId[] = [];
  readonly #running = new Map<CallId, string>();
  readonly #ended = new Set<CallId>();

  /** `begun` is the seq before the first event; `cursor` that of the last item that the reader has. */
  constructor(runId: RunId, begun: Seq, cursor: Seq = begun) {
    this.#runId = runId;
    this.#last = begun;
    this.#cursor = cursor;
  }

  /** What is new to the reader. */
  take(stored: StoredEvent): RunOutputItem[] {
    return this.takeAll(stored).flatMap((marked) => newPartOf(marked) ?? []);
  }

  /** Everything, with what of it is new to the reader. */
  takeAll(stored: StoredEvent): MarkedItem[] {
    const hasSkipped = stored.seq > this.#last + 1;
    this.#last = stored.seq;
    if (hasSkipped) this.#hasGap = true;
    if (stored.runId !== this.#runId) return [];
    const decoded = decodeEvent(stored);
    if (decoded.kind !== "known") return [];
    const { seq, at } = stored;
    return this.#itemsOf(decoded.event).map(({ read = 0, firstDelta, ...content }): MarkedItem => {
      const item: RunOutputItem = { seq, at, ...content };
      const isRead = read > 0 && "text" in item && read >= item.text.length;
      const newFrom = isRead || item.seq <= this.#cursor ? null : read;
      return { item, newFrom, firstDelta: firstDelta ?? null };
    });
  }

  #itemsOf(event: KnownEvent): readonly PlacedContent[] {
    switch (event.type) {
      case "run.state": {
        const { state, cause } = event.data;
        return [{ kind: terminalStates.has(state) ? "ended" : "state", state, cause }];
      }
      case "message.user":
        return [{ kind: "input", messageId: event.data.messageId, parts: event.data.parts }];
      case "step.started":
        return this.#startStep(event.data);
      case "message.delta":
        return this.#grow(event.data, event.seq);
      case "message.assistant":
        return event.data.above === undefined ? this.#settle(event.data) : [];
      case "tool.started": {
        const { callId, name, input } = event.data;
        this.#running.set(callId, name);
        this.#ended.delete(callId);
        return [{ kind: "tool_started", callId, name, input }];
      }
      case "tool.output":
        return [{ kind: "tool_output", callId: event.data.callId, text: event.data.text }];
      case "tool.ended":
        return this.#endTool(event.data);
      case "message.tool":
        return event.data.above === undefined ? this.#endTools(event.data.parts) : [];
      case "approval.asked":
        return [
          {
            kind: "approval_asked",
            isQuestion: event.data.kind === "question",
            approval: event.data,
          },
        ];
      case "approval.answered": {
        const { approvalId, decision, answer } = event.data;
        return [{ kind: "approval_answered", approvalId, decision, answer }];
      }
      case "notice.added":
      case "notice.changed": {
        const { noticeId, kind: notice, text } = event.data;
        return [{ kind: "notice", noticeId, notice, text }];
      }
      case "usage.recorded":
        return [{ kind: "usage", usage: event.data }];
      default:
        return [];
    }
  }

  #startStep({ step, model }: EventData<"step.started">): readonly RunOutputContent[] {
    const messageIds = this.#endedEarly;
    this.#endedEarly = [];
    this.#open = null;
    this.#hasGap = false;
    const begun: RunOutputContent = { kind: "step", step, model };
    return messageIds.length === 0 ? [begun] : [{ kind: "asked_again", messageIds }, begun];
  }

  #grow(delta: EventData<"message.delta">, firstDelta: Seq): readonly PlacedContent[] {
    const { messageId, text, kind = "text", part: index = 0 } = delta;
    if (this.#hasGap) return [];
    if (this.#open?.messageId !== messageId) this.#open = { messageId, indexes: [], given: [] };
    const { indexes, given } = this.#open;
    if (!indexes.includes(index)) indexes.push(index);
    const part = indexes.indexOf(index);
    given[part] = (given[part] ?? 0) + text.length;
    if (text === "") return [];
    return [{ kind, messageId, part, text, firstDelta }];
  }

  #settle(data: EventData<"message.assistant">): readonly PlacedContent[] {
    const { messageId, parts, model, partial } = data;
    const given = this.#open?.messageId === messageId ? this.#open.given : [];
    const rest = restOfText(data, given, this.#cursor);
    this.#open = null;
    this.#hasGap = false;
    if (partial === "interrupted" || partial === "failed") this.#endedEarly.push(messageId);
    return [
      ...rest,
      { kind: "message", messageId, parts, model, partial },
      ...parts.flatMap((part): RunOutputContent[] => {
        if (part.type !== "tool_call") return [];
        const { callId, name, input } = part;
        return [{ kind: "call", callId, name, input }];
      }),
    ];
  }

  #endTool(data: EventData<"tool.ended">): readonly RunOutputContent[] {
    const { callId, outcome, output, details } = data;
    const name = this.#running.get(callId);
    if (name === undefined || this.#ended.has(callId)) return [];
    this.#ended.add(callId);
    return [{ kind: "tool_ended", callId, name, outcome, output, details }];
  }

  /** Calls that were refused never started, and the end of one whose runner died is in its result alone. */
  #endTools(parts: readonly Part[]): readonly RunOutputContent[] {
    return parts.flatMap((part): RunOutputContent[] => {
      if (part.type !== "tool_result" || this.#ended.has(part.callId)) return [];
      this.#ended.add(part.callId);
      const { callId, name, outcome, output, details } = part;
      return [{ kind: "tool_ended", callId, name, outcome, output, details }];
    });
  }
}

/** Text that comes from a settled message has the seq of a delta. */
type PlacedContent = RunOutputContent & {
  readonly seq?: Seq;
  /** How much of its text the reader has. */
  readonly read?: number;
  readonly firstDelta?: Seq;
};

interface OpenText {
  readonly messageId: MessageId;
  /** How the deltas number the parts: increasing, but not without gaps. */
  readonly indexes: number[];
  /** How many characters of each part were put out. */
  readonly given: number[];
}

/**
 * The text of a settled message that its deltas did not give. Each piece has the seq of the delta that it ends with, so
 * that a reader who has it and resumes there gets it once; text that was recovered from a spill never had a delta.
 */
function restOfText(
  { messageId, parts, deltas = [], timing = [] }: EventData<"message.assistant">,
  given: readonly number[],
  cursor: Seq,
): readonly PlacedContent[] {
  const lengths = new DeltaLengths(deltas, timing);
  const read = lengths.upTo(cursor);
  let start = 0;
  const rest: PlacedContent[] = [];
  const texts = parts.filter((part) => part.type === "text" || part.type === "reasoning");
  for (const [part, { type: kind, text }] of texts.entries()) {
    const within = (position: number): number =>
      Math.min(text.length, Math.max(0, position - start));
    const from = given[part] ?? 0;
    const stored = Math.max(from, within(lengths.total));
    const seq = lengths.seqAt(start + stored);
    const firstDelta = lengths.seqAt(start + from + 1);
    const withDelta = text.slice(from, stored);
    const isRead = { read: Math.max(0, within(read) - from) };
    const placed = seq !== undefined && firstDelta !== undefined && { seq, firstDelta };
    if (withDelta !== "")
      rest.push({ kind, messageId, part, text: withDelta, ...isRead, ...placed });
    const spilled = text.slice(stored);
    if (spilled !== "") rest.push({ kind, messageId, part, text: spilled });
    start += text.length;
  }
  return rest;
}

/**
 * How many characters the deltas of a settled message had. Of a long message, 2, 4, 8 … deltas have one length: a reader
 * between them gets their text again rather than not at all.
 */
class DeltaLengths {
  readonly #deltas: readonly (readonly [Seq, Seq])[];
  readonly #lengths: readonly number[];
  readonly #perLength: number;

  constructor(
    deltas: readonly (readonly [Seq, Seq])[],
    timing: readonly (readonly [number, number])[],
  ) {
    this.#deltas = deltas;
    this.#lengths = timing.map(([, length]) => length);
    const count = deltas.reduce((sum, [from, to]) => sum + to - from + 1, 0);
    let perLength = 1;
    while (timing.length > 0 && Math.ceil(count / perLength) > timing.length) perLength *= 2;
    this.#perLength = perLength;
  }

  get total(): number {
    return this.#lengths.reduce((sum, length) => sum + length, 0);
  }

  upTo(cursor: Seq): number {
    let read = 0;
    for (const [from, to] of this.#deltas)
      if (cursor >= from) read += Math.min(cursor, to) - from + 1;
    if (cursor >= (this.#deltas.at(-1)?.[1] ?? Infinity)) return this.total;
    const whole = this.#lengths.slice(0, Math.floor(read / this.#perLength));
    return whole.reduce((sum, length) => sum + length, 0);
  }

  /** The last delta of the first so many characters. */
  seqAt(characters: number): Seq | undefined {
    let left = characters;
    let index = 0;
    for (const length of this.#lengths) {
      if (left <= 0) break;
      left -= length;
      index += 1;
    }
    let deltas = index * this.#perLength;
    for (const [from, to] of this.#deltas) {
      const size = to - from + 1;
      if (deltas <= size) return deltas === 0 ? undefined : ((from + deltas - 1) as Seq);
      deltas -= size;
    }
    return this.#deltas.at(-1)?.[1];
  }
}
