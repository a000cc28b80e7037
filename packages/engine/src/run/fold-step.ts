import {
  type CallId,
  decodeEvent,
  type EventData,
  type MessageId,
  type Part,
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
        if (tool === undefined) break;
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
  return { message: message && closeMessage(message), tools };
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
  return { messageId: open.id, parts, deltas: open.deltas, timing: open.timing };
}
