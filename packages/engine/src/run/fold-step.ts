import {
  type CallId,
  decodeEvent,
  type EventData,
  type MessageId,
  type Part,
  roleOf,
  type Seq,
  type StoredEvent,
} from "@holdfast/protocol";

import { GrowingText } from "./growing-text.ts";
import { Timing } from "./timing.ts";

type Range = [Seq, Seq];

export interface StreamedMessage {
  readonly messageId: MessageId;
  readonly parts: readonly Part[];
  /** The numbers of the deltas that it is made of. */
  readonly deltas: readonly Range[];
  /** `[ms, characters]` for each delta, from the first one on. */
  readonly timing: readonly [number, number][];
}

export interface StreamedTool {
  readonly started: EventData<"tool.started">;
  readonly output: string;
  readonly ended: EventData<"tool.ended"> | null;
  readonly deltas: readonly Range[];
}

/** What a step has left behind so far. */
export interface StepFold {
  readonly message: StreamedMessage | null;
  readonly tools: ReadonlyMap<CallId, StreamedTool>;
  /** Output that belongs to no tool of the step. It is shown to nobody, but its numbers are accounted for. */
  readonly stray: readonly Range[];
}

interface OpenPart {
  readonly index: number;
  readonly kind: "text" | "reasoning";
  readonly text: GrowingText;
}

interface OpenMessage {
  readonly id: MessageId;
  readonly begunAt: number;
  readonly parts: OpenPart[];
  readonly deltas: Range[];
  readonly timing: Timing;
}

interface OpenTool {
  readonly started: EventData<"tool.started">;
  readonly output: GrowingText;
  readonly deltas: Range[];
  readonly ended: EventData<"tool.ended"> | null;
}

/**
 * Folds a step's journal, event by event, and keeps nothing of them but what they say. The runner settles its own step
 * with it and a take-over someone else's, so both write the same entries from the same events: what was on a screen is
 * what gets stored (P5).
 */
export class StepFolder {
  readonly #tools = new Map<CallId, OpenTool>();
  readonly #stray: Range[] = [];
  #message: OpenMessage | null = null;

  add(stored: StoredEvent): void {
    const decoded = decodeEvent(stored);
    if (decoded.kind !== "known") return;
    const { event } = decoded;
    switch (event.type) {
      case "message.delta":
        return this.#addDelta(event.data, event.seq, event.at);
      case "tool.started": {
        const { deltas = [] } = this.#tools.get(event.data.callId) ?? {};
        const output = new GrowingText();
        this.#tools.set(event.data.callId, { started: event.data, output, deltas, ended: null });
        return;
      }
      case "tool.output": {
        const tool = this.#tools.get(event.data.callId);
        extend(tool?.deltas ?? this.#stray, event.seq);
        return tool?.output.add(event.data.text);
      }
      case "tool.ended": {
        const tool = this.#tools.get(event.data.callId);
        if (tool) this.#tools.set(event.data.callId, { ...tool, ended: event.data });
        return;
      }
      default:
    }
  }

  /** What has been added so far. */
  fold(): StepFold {
    const tools = this.#tools.entries().map(([callId, tool]): [CallId, StreamedTool] => {
      const { started, output, ended, deltas } = tool;
      return [callId, { started, output: output.toString(), ended, deltas: copied(deltas) }];
    });
    const message = this.#message && closeMessage(this.#message);
    return { message, tools: new Map(tools), stray: copied(this.#stray) };
  }

  #addDelta(delta: EventData<"message.delta">, seq: Seq, at: number): void {
    const { messageId: id, text } = delta;
    this.#message ??= { id, begunAt: at, parts: [], deltas: [], timing: new Timing() };
    const { parts, deltas, timing, begunAt } = this.#message;
    growPart(parts, delta);
    extend(deltas, seq);
    timing.add(at - begunAt, text.length);
  }
}

export function foldStep(journal: Iterable<StoredEvent>): StepFold {
  const folder = new StepFolder();
  for (const event of journal) folder.add(event);
  return folder.fold();
}

/** The numbers of every delta in a journal. */
export function deltaRanges(journal: Iterable<StoredEvent>): Range[] {
  const ranges: Range[] = [];
  for (const event of journal) if (roleOf(event) === "delta") extend(ranges, event.seq);
  return ranges;
}

function growPart(
  parts: OpenPart[],
  { part: index = 0, kind = "text", text }: EventData<"message.delta">,
): void {
  let open = parts.find((each) => each.index === index);
  if (open === undefined) parts.push((open = { index, kind, text: new GrowingText() }));
  open.text.add(text);
}

/** Numbers that follow each other are one range. */
function extend(ranges: Range[], seq: Seq): void {
  const last = ranges.at(-1);
  if (last !== undefined && last[1] + 1 === seq) last[1] = seq;
  else ranges.push([seq, seq]);
}

function copied(ranges: readonly Range[]): Range[] {
  return ranges.map(([from, to]) => [from, to]);
}

function closeMessage({ id, parts, deltas, timing }: OpenMessage): StreamedMessage {
  const closed = parts
    .toSorted((a, b) => a.index - b.index)
    .map(({ kind, text }): Part => ({ type: kind, text: text.toString() }));
  return { messageId: id, parts: closed, deltas: copied(deltas), timing: timing.pairs() };
}
