import {
  type CallId,
  decodeEvent,
  type EventData,
  type JsonObject,
  type MessageId,
  type NewEvent,
  type Part,
  roleOf,
  type Seq,
} from "@holdfast/protocol";
import { seqSpanOf } from "../log/read-views.ts";
import type { Clock } from "../ports/clock.ts";
import type { JournalEvent } from "../ports/reads.ts";

type Range = [Seq, Seq];

export interface StreamedMessage {
  readonly messageId: MessageId;
  readonly parts: readonly Part[];
  /** The seqs of the deltas that make up the text. */
  readonly deltas: readonly Range[];
  /** `[ms, characters]` of each delta, counted from the first one. */
  readonly timing: readonly [number, number][];
}

export interface StreamedTool {
  readonly started: EventData<"tool.started">;
  readonly output: string;
  readonly ended: EventData<"tool.ended"> | null;
  readonly deltas: readonly Range[];
  /** Part of it was missing from the store and was recovered later. */
  readonly recovered?: true;
}

/** What a step has produced so far. */
export interface StepFold {
  readonly message: StreamedMessage | null;
  readonly tools: ReadonlyMap<CallId, StreamedTool>;
  /** Output of no known tool. It is never shown, but its seqs are accounted for. */
  readonly stray: readonly Range[];
}

/** Marks events from a spill, which have no seq. */
const noSeq = 0 as Seq;

interface OpenPart {
  readonly index: number;
  readonly kind: "text" | "reasoning";
  readonly text: TextBuilder;
  opaque: JsonObject | undefined;
  recovered: boolean;
}

interface OpenMessage {
  readonly id: MessageId;
  readonly startedAt: number;
  readonly parts: OpenPart[];
  readonly deltas: Range[];
  readonly timing: DeltaTimings;
}

interface OpenTool {
  readonly started: EventData<"tool.started">;
  readonly output: TextBuilder;
  readonly deltas: Range[];
  readonly ended: EventData<"tool.ended"> | null;
  readonly recovered?: true;
}

/**
 * Folds a step's journal event by event without retaining the events. A runner settles its own step with it and a
 * take-over settles someone else's, so both write the same entries from the same events: what was on screen is what
 * gets stored (P5).
 */
export class StepFolder {
  readonly #tools = new Map<CallId, OpenTool>();
  readonly #stray: Range[] = [];
  #message: OpenMessage | null = null;

  /** Spilled events follow the stored ones and have no seqs to account for. */
  addSpilled(event: NewEvent): void {
    this.add({ ...event, seq: noSeq, at: 0 });
  }

  add(stored: JournalEvent): void {
    const decoded = decodeEvent(stored);
    if (decoded.kind !== "known") return;
    const { event } = decoded;
    const span = seqSpanOf(stored);
    const mark = event.seq === noSeq ? ({ recovered: true } as const) : {};
    switch (event.type) {
      case "message.delta":
        return this.#addDelta(event.data, stored, span);
      case "tool.started": {
        const { deltas = [] } = this.#tools.get(event.data.callId) ?? {};
        const output = new TextBuilder();
        this.#tools.set(event.data.callId, { started: event.data, output, deltas, ended: null });
        return;
      }
      case "tool.output": {
        const tool = this.#tools.get(event.data.callId);
        addToRanges(tool?.deltas ?? this.#stray, span);
        if (tool === undefined) return;
        tool.output.add(event.data.text);
        this.#tools.set(event.data.callId, { ...tool, ...mark });
        return;
      }
      case "tool.ended": {
        const tool = this.#tools.get(event.data.callId);
        if (tool) this.#tools.set(event.data.callId, { ...tool, ended: event.data, ...mark });
        return;
      }
      default:
    }
  }

  fold(): StepFold {
    const tools = this.#tools.entries().map(([callId, tool]): [CallId, StreamedTool] => {
      const { output, deltas, ...rest } = tool;
      return [callId, { ...rest, output: output.toString(), deltas: copyRanges(deltas) }];
    });
    const message = this.#message && closeMessage(this.#message);
    return { message, tools: new Map(tools), stray: copyRanges(this.#stray) };
  }

  #addDelta(
    delta: EventData<"message.delta">,
    { seq, at, joined }: JournalEvent,
    span: readonly [Seq, Seq],
  ): void {
    const { messageId: id, text } = delta;
    this.#message ??= { id, startedAt: at, parts: [], deltas: [], timing: new DeltaTimings() };
    const { parts, deltas, timing, startedAt } = this.#message;
    appendToPart(parts, delta, seq);
    addToRanges(deltas, span);
    if (joined !== undefined)
      for (const [index, ms] of joined.times.entries())
        timing.add(at + ms - startedAt, joined.lengths[index] ?? 0);
    else if (seq !== noSeq) timing.add(at - startedAt, text.length);
  }
}

export function foldStep(
  journal: Iterable<JournalEvent>,
  spilled: Iterable<NewEvent> = [],
): StepFold {
  const folder = new StepFolder();
  for (const event of journal) folder.add(event);
  for (const event of spilled) folder.addSpilled(event);
  return folder.fold();
}

/**
 * A journal may be long: yield to the event loop after this many events. A joined event counts for only a few of its
 * deltas.
 */
const maxEventsPerSlice = 2_000;
const joinedPerEvent = 20;

/** Like `foldStep`, without blocking the event loop. */
export async function foldStepInSlices(
  clock: Clock,
  journal: readonly JournalEvent[],
  spilled: Iterable<NewEvent> = [],
): Promise<StepFold> {
  const folder = new StepFolder();
  let done = 0;
  for (const event of journal) {
    if (done >= maxEventsPerSlice) {
      await clock.sleep(0);
      done = 0;
    }
    folder.add(event);
    done += 1 + (event.joined?.times.length ?? 0) / joinedPerEvent;
  }
  for (const event of spilled) folder.addSpilled(event);
  return folder.fold();
}

/** The seqs of every delta in a journal. */
export function deltaRanges(journal: Iterable<JournalEvent>): Range[] {
  const ranges: Range[] = [];
  for (const event of journal) if (roleOf(event) === "delta") addToRanges(ranges, seqSpanOf(event));
  return ranges;
}

function appendToPart(
  parts: OpenPart[],
  { part: index = 0, kind = "text", text, opaque }: EventData<"message.delta">,
  seq: Seq,
): void {
  const recovered = seq === noSeq;
  let open = parts.find((candidate) => candidate.index === index);
  if (open === undefined)
    parts.push((open = { index, kind, text: new TextBuilder(), opaque, recovered }));
  open.text.add(text);
  open.opaque = opaque ?? open.opaque;
  open.recovered ||= recovered;
}

/** Adjacent seqs share one range. */
function addToRanges(ranges: Range[], [from, to]: readonly [Seq, Seq]): void {
  if (to === noSeq) return;
  const last = ranges.at(-1);
  if (last !== undefined && last[1] + 1 === from) last[1] = to;
  else ranges.push([from, to]);
}

function copyRanges(ranges: readonly Range[]): Range[] {
  return ranges.map(([from, to]) => [from, to]);
}

function closeMessage({ id, parts, deltas, timing }: OpenMessage): StreamedMessage {
  const closed = parts
    .toSorted((a, b) => a.index - b.index)
    .map(({ kind, text, opaque, recovered }): Part => ({
      type: kind,
      text: text.toString(),
      ...(opaque && { opaque }),
      ...(recovered && { recovered: true }),
    }));
  return { messageId: id, parts: closed, deltas: copyRanges(deltas), timing: timing.pairs() };
}

/** Pieces are joined into a block once they reach this length. */
const blockLength = 512;

/**
 * A text that grows in small pieces. `a + b` keeps both strings and a node that joins them alive for as long as the sum
 * lives, so pieces are flattened into blocks, and the blocks are joined when the text is read.
 */
export class TextBuilder {
  #blocks: string[] = [];
  #pieces: string[] = [];
  #gathered = 0;

  add(piece: string): void {
    this.#pieces.push(piece);
    this.#gathered += piece.length;
    if (this.#gathered >= blockLength) this.#join();
  }

  toString(): string {
    this.#join();
    if (this.#blocks.length > 1) this.#blocks = [this.#blocks.join("")];
    return this.#blocks[0] ?? "";
  }

  #join(): void {
    if (this.#pieces.length === 0) return;
    this.#blocks.push(this.#pieces.join(""));
    this.#pieces = [];
    this.#gathered = 0;
  }
}

/** A replay needs no more detail than this. */
const maxTimingPairs = 2_000;
/** More than the number of characters in any message. */
const lengthRadix = 2 ** 21;

/**
 * How much text arrived when: `[ms, characters]` per delta. When there are too many, neighbours are merged. Every live
 * run holds such a list, so each pair is packed into one number: `ms * lengthRadix + characters`.
 */
export class DeltaTimings {
  #pairs: number[] = [];
  /** How many deltas a pair covers, and how many the last one covers so far. */
  #size = 1;
  #inLast = 0;

  add(ms: number, length: number): void {
    const last = this.#pairs.length - 1;
    if (last >= 0 && this.#inLast < this.#size) {
      this.#pairs[last] = (this.#pairs[last] ?? 0) + length;
      this.#inLast += 1;
      return;
    }
    if (this.#pairs.length === maxTimingPairs) this.#halve();
    this.#pairs.push(ms * lengthRadix + length);
    this.#inLast = 1;
  }

  pairs(): [number, number][] {
    return this.#pairs.map((pair) => [Math.floor(pair / lengthRadix), lengthOfPair(pair)]);
  }

  #halve(): void {
    const pairs = this.#pairs;
    this.#pairs = [];
    for (let index = 0; index < pairs.length; index += 2)
      this.#pairs.push((pairs[index] ?? 0) + lengthOfPair(pairs[index + 1] ?? 0));
    this.#size *= 2;
  }
}

/** Not `%`: a clock that was set back makes the time negative. */
function lengthOfPair(pair: number): number {
  return pair - Math.floor(pair / lengthRadix) * lengthRadix;
}
