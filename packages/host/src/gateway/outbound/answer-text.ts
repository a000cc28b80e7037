import {
  type ApprovalId,
  decodeEvent,
  type EventData,
  type KnownEvent,
  type MessageId,
  type Part,
  type RunId,
  type RunState,
  type StoredEvent,
  terminalStates,
} from "@holdfast/protocol";

/** A line that opens or closes a block of code. */
const fenceLine = /^ {0,3}(`{3,}|~{3,})([^`\n]*)$/;

interface CodeFence {
  readonly mark: string;
  readonly info: string;
}

/** The block of code that is open at the end of a text, by the line that opened it. */
function openFence(text: string): CodeFence | null {
  let open: CodeFence | null = null;
  for (const line of text.split("\n")) {
    const [, mark, info = ""] = fenceLine.exec(line) ?? [];
    if (mark === undefined) continue;
    if (open === null) open = { mark, info: info.trim() };
    else if (mark.startsWith(open.mark) && info.trim() === "") open = null;
  }
  return open;
}

/** Room for what is added where a block of code is taken apart: it is closed above, and opened again below. */
const fenceReserve = 80;
const maxInfoLength = 20;

/**
 * Where the chunk that begins at `from` ends, if it can hold no more. It follows from what stands before that end alone, so
 * a text that grows leaves the chunks that are full as they are. `null`: all of it fits.
 */
export function chunkEnd(text: string, from: number, limit: number): number | null {
  const room = limit - fenceReserve;
  if (text.length - from <= room) return null;
  const window = text.slice(from, from + room);
  // In the second half, at the best place that there is: between paragraphs, lines, words.
  for (const place of ["\n\n", "\n", " "]) {
    const at = window.lastIndexOf(place);
    if (at >= room / 2) return from + at + place.length;
  }
  const isInPair = /[\uD800-\uDBFF]/.test(window.at(-1) ?? "");
  return from + room - (isInPair ? 1 : 0);
}

/** A stretch of a text as a message of its own: a block of code that it cuts through is closed, and opened again. */
export function chunkText(text: string, from: number, to: number): string {
  const above = openFence(text.slice(0, from));
  const below = openFence(text.slice(0, to));
  const body = text.slice(from, to).replace(/\n+$/, "");
  const head = above === null ? "" : `${above.mark}${above.info.slice(0, maxInfoLength)}\n`;
  const tail = below === null ? "" : `\n${below.mark}`;
  return above === null ? `${body.replace(/^\n+/, "")}${tail}` : `${head}${body}${tail}`;
}

type FilePart = Extract<Part, { type: "file" | "image" }>;

/** A stretch of an answer that is never in one message with another: what a step said, a notice, a file. */
interface AnswerSegment {
  readonly start: number;
  readonly text: string;
  readonly file?: FilePart;
  /** Still being written. */
  readonly live?: MessageId;
}

/** What stands at a place of an answer. */
export type AnswerSlice =
  /** Nothing yet. */
  | { readonly kind: "none" }
  | {
      readonly kind: "words";
      readonly to: number;
      readonly text: string;
      readonly isWhole: boolean;
      /** Its step is over: nothing takes it back. */
      readonly isSettled: boolean;
    }
  | { readonly kind: "file"; readonly to: number; readonly file: FilePart }
  /** Nothing that can be sent: go on behind it. */
  | { readonly kind: "blank"; readonly to: number };

export interface RunEnding {
  readonly state: RunState;
  readonly cause: string | undefined;
  /** By the store's clock. */
  readonly at: number;
}

/**
 * What a run says to the chat that asked, as a text that only grows: places in it are numbers that stay true, whoever
 * goes on and from wherever. It is made from the run's own events alone.
 */
export class AnswerText {
  readonly runId: RunId;
  readonly approvals: ApprovalId[] = [];
  #segments: AnswerSegment[] = [];
  #live = new Map<number, string>();
  #ending: RunEnding | null = null;
  #state: RunState = "queued";

  constructor(runId: RunId) {
    this.runId = runId;
  }

  get ending(): RunEnding | null {
    return this.#ending;
  }

  /** Somebody works on it: what comes next may come at any moment. */
  get isRunning(): boolean {
    return this.#state === "claimed" || this.#state === "running";
  }

  get isStreaming(): boolean {
    return this.#segments.at(-1)?.live !== undefined;
  }

  get length(): number {
    const last = this.#segments.at(-1);
    return last === undefined ? 0 : segmentEnd(last);
  }

  apply(stored: StoredEvent): void {
    if (stored.runId !== this.runId) return;
    const decoded = decodeEvent(stored);
    if (decoded.kind === "known") this.#applyKnown(decoded.event);
  }

  #applyKnown(event: KnownEvent): void {
    switch (event.type) {
      case "message.delta":
        return this.#grow(event.data);
      case "message.assistant":
      case "message.tool":
        if (event.data.above !== undefined) return;
        return this.#settle(event.data.parts, event.type === "message.assistant");
      case "notice.added":
        this.#dropLive();
        return this.#add({ text: `⚠ ${event.data.text}` });
      case "step.started":
        return this.#dropLive();
      case "approval.asked":
        this.approvals.push(event.data.approvalId);
        return;
      case "run.state":
        return this.#move(event);
      default:
    }
  }

  #grow({ messageId, text, kind = "text", part = 0 }: EventData<"message.delta">): void {
    if (kind !== "text") return;
    if (this.#segments.at(-1)?.live !== messageId) {
      this.#dropLive();
      this.#add({ text: "", live: messageId });
    }
    this.#live.set(part, (this.#live.get(part) ?? "") + text);
    const parts = [...this.#live].toSorted(([a], [b]) => a - b).map(([, said]) => said);
    const last = this.#segments.pop();
    if (last !== undefined) this.#segments.push({ ...last, text: joinParts(parts) });
  }

  #settle(parts: readonly Part[], isSaid: boolean): void {
    this.#dropLive();
    const words = parts.flatMap((part) => (part.type === "text" ? [part.text] : []));
    const text = isSaid ? joinParts(words) : "";
    if (text.trim() !== "") this.#add({ text });
    for (const file of parts.flatMap(filesIn)) this.#add({ text: "", file });
  }

  #move({ at, data: { state, cause } }: Extract<KnownEvent, { type: "run.state" }>): void {
    this.#state = state;
    if (!terminalStates.has(state)) return;
    this.#dropLive();
    const words = endingTexts[state];
    const isSaid = this.#segments.at(-1)?.text.startsWith("⚠ ") === true;
    if (words !== undefined && !isSaid && cause !== "removed") this.#add({ text: words });
    this.#ending = { state, cause, at };
  }

  #add(segment: Omit<AnswerSegment, "start">): void {
    this.#segments.push({ start: this.length, ...segment });
  }

  /** What was streamed stands in what is settled now, or was dropped because its step begins again. */
  #dropLive(): void {
    this.#live.clear();
    if (this.isStreaming) this.#segments.pop();
  }

  sliceAt(from: number, limit: number): AnswerSlice {
    const segment = this.#segments.find((each) => from < segmentEnd(each));
    if (segment === undefined) return { kind: "none" };
    const { start, text, file, live } = segment;
    if (file !== undefined) return { kind: "file", to: segmentEnd(segment), file };
    const begin = Math.max(0, from - start);
    const end = chunkEnd(text, begin, limit);
    const said = chunkText(text, begin, end ?? text.length);
    const isWhole = end !== null || live === undefined;
    const to = end === null ? segmentEnd(segment) : start + end;
    const isSettled = live === undefined;
    if (said.trim() !== "") return { kind: "words", to, text: said, isWhole, isSettled };
    return isWhole ? { kind: "blank", to } : { kind: "none" };
  }

  /** What was sent before as one chunk. */
  sliceBetween(from: number, to: number): AnswerSlice {
    const segment = this.#segments.find((each) => from < segmentEnd(each));
    if (segment === undefined) return { kind: "none" };
    const { start, text, file } = segment;
    if (file !== undefined) return { kind: "file", to, file };
    const said = chunkText(text, from - start, Math.min(text.length, to - start));
    return said.trim() === ""
      ? { kind: "blank", to }
      : { kind: "words", to, text: said, isWhole: true, isSettled: true };
  }
}

/** What a part brings that is no words. */
function filesIn(part: Part): readonly FilePart[] {
  if (part.type === "file" || part.type === "image") return [part];
  if (part.type !== "tool_result") return [];
  return (part.details?.files ?? []).map(({ blobId, mediaType, size, name = "file" }) =>
    imageTypes.has(mediaType)
      ? { type: "image", blobId, mediaType, name }
      : { type: "file", blobId, mediaType, size, name },
  );
}

const imageTypes: ReadonlySet<string> = new Set(["image/png", "image/jpeg", "image/webp"]);

/** One more than its words, so that where one ends and where the next begins are two places. */
function segmentEnd({ start, text, live }: AnswerSegment): number {
  return start + text.length + (live === undefined ? 1 : 0);
}

function joinParts(parts: readonly string[]): string {
  return parts.filter((part) => part !== "").join("\n\n");
}

const endingTexts: Partial<Record<RunState, string>> = {
  cancelled: "■ Stopped.",
  failed: "⚠ The answer could not be written. Send /retry to try again.",
  interrupted: "⚠ The host stopped in the middle of this answer. Send /resume to go on.",
  limit: "⚠ The answer reached its limit. Send /resume to go on.",
};
