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
  text: string;
}

/**
 * Folds a step's journal. The runner settles its own step with it and a take-over someone else's, so both write
 * the same entries from the same events: what was on a screen is what gets stored (P5).
 */
export function foldStep(journal: Iterable<StoredEvent>): StepFold {
  let message: {
    id: MessageId;
    parts: OpenPart[];
    deltas: Range[];
    timing: [number, number][];
    begunAt: number;
  } | null = null;
  const tools = new Map<CallId, StreamedTool & { deltas: Range[] }>();
  const stray: Range[] = [];
  for (const stored of journal) {
    const decoded = decodeEvent(stored);
    if (decoded.kind !== "known") continue;
    const { event } = decoded;
    switch (event.type) {
      case "message.delta": {
        const { messageId, text } = event.data;
        message ??= { id: messageId, parts: [], deltas: [], timing: [], begunAt: event.at };
        growPart(message.parts, event.data);
        extend(message.deltas, event.seq);
        message.timing.push([event.at - message.begunAt, text.length]);
        break;
      }
      case "tool.started": {
        const before = tools.get(event.data.callId);
        tools.set(event.data.callId, {
          started: event.data,
          output: "",
          ended: null,
          deltas: before?.deltas ?? [],
        });
        break;
      }
      case "tool.output": {
        const tool = tools.get(event.data.callId);
        if (tool === undefined) {
          extend(stray, event.seq);
          break;
        }
        extend(tool.deltas, event.seq);
        tools.set(event.data.callId, { ...tool, output: tool.output + event.data.text });
        break;
      }
      case "tool.ended": {
        const tool = tools.get(event.data.callId);
        if (tool !== undefined) tools.set(event.data.callId, { ...tool, ended: event.data });
        break;
      }
      default:
    }
  }
  return { message: message && closeMessage(message), tools, stray };
}

/** The numbers of every delta in a journal. */
export function deltaRanges(journal: Iterable<StoredEvent>): Range[] {
  const ranges: Range[] = [];
  for (const event of journal) if (roleOf(event) === "delta") extend(ranges, event.seq);
  return ranges;
}

function growPart(
  parts: OpenPart[],
  { part = 0, kind = "text", text }: EventData<"message.delta">,
): void {
  const open = parts.find((each) => each.index === part);
  if (open === undefined) parts.push({ index: part, kind, text });
  else open.text += text;
}

/** Numbers that follow each other are one range. */
function extend(ranges: Range[], seq: Seq): void {
  const last = ranges.at(-1);
  if (last !== undefined && last[1] + 1 === seq) last[1] = seq;
  else ranges.push([seq, seq]);
}

function closeMessage(open: {
  id: MessageId;
  parts: OpenPart[];
  deltas: Range[];
  timing: [number, number][];
}): StreamedMessage {
  const parts = open.parts
    .toSorted((a, b) => a.index - b.index)
    .map(({ kind, text }): Part => ({ type: kind, text }));
  return { messageId: open.id, parts, deltas: open.deltas, timing: coarser(open.timing) };
}

const mostTimings = 2_000;

/** A replay needs no more than this; neighbours become one. */
function coarser(timing: readonly [number, number][]): [number, number][] {
  const size = Math.ceil(timing.length / mostTimings);
  const groups: [number, number][] = [];
  for (let start = 0; start < timing.length; start += size) {
    const group = timing.slice(start, start + size);
    groups.push([group[0]?.[0] ?? 0, group.reduce((sum, [, length]) => sum + length, 0)]);
  }
  return groups;
}
