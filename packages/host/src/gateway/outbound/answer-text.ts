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
  noticeLink,
} from "@holdfast/protocol";
import { comparedReport, isUnchanged, textOf } from "../../automation/schedules/changes-only.ts";

type FilePart = Extract<Part, { type: "file" | "image" }>;

/** Part of an answer that gets messages of its own: a step's text, a notice, a file. */
interface AnswerSegment {
  readonly start: number;
  readonly text: string;
  readonly file?: FilePart;
  /** Still streaming. */
  readonly live?: MessageId;
}

/** What an answer has at a given position. */
export type AnswerSlice =
  /** Nothing yet. */
  | { readonly kind: "none" }
  | {
      readonly kind: "text";
      readonly to: number;
      readonly text: string;
      readonly isWhole: boolean;
      /** Its step has ended, so nothing can retract it. */
      readonly isSettled: boolean;
    }
  | { readonly kind: "file"; readonly to: number; readonly file: FilePart }
  /** Nothing that can be sent: continue after it. */
  | { readonly kind: "blank"; readonly to: number };

export interface RunEnding {
  readonly state: RunState;
  readonly cause: string | undefined;
  /** By the store's clock. */
  readonly at: number;
}

/**
 * What a run says to its chat, as a text that only grows: positions in it stay valid for any host that resumes
 * delivery. It is built from the run's own events alone.
 */
export class AnswerText {
  readonly runId: RunId;
  readonly approvals: ApprovalId[] = [];
  #segments: AnswerSegment[] = [];
  #live = new Map<number, string>();
  #ending: RunEnding | null = null;
  #state: RunState = "queued";
  /** The report that the answer is compared with; `undefined` if it is delivered in any case. */
  #compared: string | null | undefined = undefined;

  constructor(runId: RunId) {
    this.runId = runId;
  }

  get ending(): RunEnding | null {
    return this.#ending;
  }

  /** Not shown before its end, for it may turn out to say nothing new. */
  get isWithheld(): boolean {
    return this.#compared !== undefined && this.#ending === null;
  }

  /** Its schedule delivers only changes, and there are none. */
  get isUnchanged(): boolean {
    if (this.#compared === undefined || this.#ending?.state !== "completed") return false;
    if (this.#segments.some(({ file }) => file !== undefined)) return false;
    return isUnchanged(this.#segments.at(-1)?.text ?? "", this.#compared);
  }

  /** A host is working on the run, so more may come at any moment. */
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
      case "message.user":
        // A person who speaks up in its run wants the answer.
        this.#compared =
          event.data.clientId?.startsWith("schedule:") === true
            ? comparedReport(textOf(event.data.parts))
            : undefined;
        return;
      case "message.delta":
        return this.#grow(event.data);
      case "message.assistant":
      case "message.tool":
        if (event.data.above !== undefined) return;
        return this.#settle(event.data.parts, event.type === "message.assistant");
      case "notice.added":
        this.#dropLive();
        return this.#add({
          text: `⚠ ${[event.data.text, noticeLink(event.data)].filter(Boolean).join("\n")}`,
        });
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
    const parts = [...this.#live].toSorted(([a], [b]) => a - b).map(([, chunk]) => chunk);
    const last = this.#segments.pop();
    if (last !== undefined) this.#segments.push({ ...last, text: joinParts(parts) });
  }

  #settle(parts: readonly Part[], isAssistant: boolean): void {
    this.#dropLive();
    const texts = parts.flatMap((part) => (part.type === "text" ? [part.text] : []));
    const text = isAssistant ? joinParts(texts) : "";
    if (text.trim() !== "") this.#add({ text });
    for (const file of parts.flatMap(filesIn)) this.#add({ text: "", file });
  }

  #move({ at, data: { state, cause } }: Extract<KnownEvent, { type: "run.state" }>): void {
    this.#state = state;
    if (!terminalStates.has(state)) return;
    this.#dropLive();
    const text = endingTexts[state];
    const hasNotice = this.#segments.at(-1)?.text.startsWith("⚠ ") === true;
    if (text !== undefined && !hasNotice && cause !== "removed") this.#add({ text });
    this.#ending = { state, cause, at };
  }

  #add(segment: Omit<AnswerSegment, "start">): void {
    this.#segments.push({ start: this.length, ...segment });
  }

  /** Streamed text is dropped once the settled message replaces it, or when its step restarts. */
  #dropLive(): void {
    this.#live.clear();
    if (this.isStreaming) this.#segments.pop();
  }

  sliceAt(from: number, limit: number): AnswerSlice {
    // Whether it says something new is known at its end.
    if (this.isWithheld) return { kind: "none" };
    const segment = this.#segments.find((candidate) => from < segmentEnd(candidate));
    if (segment === undefined) return { kind: "none" };
    const { start, text, file, live } = segment;
    if (file !== undefined) return { kind: "file", to: segmentEnd(segment), file };
    const offset = Math.max(0, from - start);
    const end = chunkEnd(text, offset, limit);
    const chunk = chunkText(text, offset, end ?? text.length);
    const isWhole = end !== null || live === undefined;
    const to = end === null ? segmentEnd(segment) : start + end;
    const isSettled = live === undefined;
    if (chunk.trim() !== "") return { kind: "text", to, text: chunk, isWhole, isSettled };
    return isWhole ? { kind: "blank", to } : { kind: "none" };
  }

  /** What was sent before as one chunk. */
  sliceBetween(from: number, to: number): AnswerSlice {
    const segment = this.#segments.find((candidate) => from < segmentEnd(candidate));
    if (segment === undefined) return { kind: "none" };
    const { start, text, file } = segment;
    if (file !== undefined) return { kind: "file", to, file };
    const chunk = chunkText(text, from - start, Math.min(text.length, to - start));
    return chunk.trim() === ""
      ? { kind: "blank", to }
      : { kind: "text", to, text: chunk, isWhole: true, isSettled: true };
  }
}

/** The files in a message part. */
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

/** One past its text, so that the end of one segment and the start of the next are different positions. */
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

/** Room for the fences added where a code block is split: closed in one chunk, reopened in the next. */
const fenceReserve = 80;
const maxInfoLength = 20;

/**
 * Where the chunk that starts at `from` ends if it is full. It depends only on the text before that end, so full
 * chunks stay the same while the text grows. `null`: the rest fits.
 */
export function chunkEnd(text: string, from: number, limit: number): number | null {
  const room = limit - fenceReserve;
  if (text.length - from <= room) return null;
  const window = text.slice(from, from + room);
  // In the second half, at the best break: between paragraphs, lines, or words.
  for (const separator of ["\n\n", "\n", " "]) {
    const at = window.lastIndexOf(separator);
    if (at >= room / 2) return from + at + separator.length;
  }
  const isInPair = /[\uD800-\uDBFF]/.test(window.at(-1) ?? "");
  return from + room - (isInPair ? 1 : 0);
}

/** A range of a text as a message of its own. A code block that it splits is closed and reopened. */
export function chunkText(text: string, from: number, to: number): string {
  const openBefore = openFence(text.slice(0, from));
  const openAfter = openFence(text.slice(0, to));
  const body = text.slice(from, to).replace(/\n+$/, "");
  const head =
    openBefore === null ? "" : `${openBefore.mark}${openBefore.info.slice(0, maxInfoLength)}\n`;
  const tail = openAfter === null ? "" : `\n${openAfter.mark}`;
  return openBefore === null ? `${body.replace(/^\n+/, "")}${tail}` : `${head}${body}${tail}`;
}

/** A line that opens or closes a code block. */
const fenceLine = /^ {0,3}(`{3,}|~{3,})([^`\n]*)$/;

interface CodeFence {
  readonly mark: string;
  readonly info: string;
}

/** The code block still open at the end of a text. */
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
