import {
  type ChildDetails,
  type FileChange,
  type Json,
  type MessageEntry,
  type RunState,
  type ToolOutcome,
  type EntryView,
  type LiveMessage,
  type LiveTool,
  type MessageId,
  type Part,
  type RunView,
  type Source,
  type ToolDetails,
  type ToolFile,
  terminalStates,
  noticeLink,
} from "@holdfast/protocol";
import type { SessionState } from "@holdfast/client";
import { transcriptStrings } from "../strings/transcript.ts";

/** A new piece of the transcript. */
export type TranscriptPiece =
  | { readonly kind: "userMessage"; readonly text: string; readonly attachments: readonly string[] }
  /** More text of an answer. `isNew`: a new answer starts with it. */
  | { readonly kind: "text"; readonly text: string; readonly isNew: boolean }
  | { readonly kind: "textEnd"; readonly partial: MessageEntry["partial"] }
  /** A picture that the model made. */
  | { readonly kind: "picture"; readonly name: string; readonly size: number | undefined }
  /** Reasoning before it continued. */
  | { readonly kind: "thought"; readonly text: string }
  | { readonly kind: "toolStarted"; readonly name: string; readonly input: Json }
  | {
      readonly kind: "toolEnded";
      readonly name: string;
      readonly input: Json;
      readonly outcome: ToolOutcome;
      readonly output: string;
      readonly tookMs: number | null;
      /** Why it was not run, if it was not. */
      readonly refusal?: string | undefined;
      /** What it did to files. */
      readonly changes?: readonly FileChange[] | undefined;
      /** The pages that it found or read. */
      readonly sources?: readonly Source[] | undefined;
      /** The delegated task that it was. */
      readonly child?: ChildDetails | undefined;
      /** Pictures and files that it returned. */
      readonly files?: readonly ToolFile[] | undefined;
    }
  | { readonly kind: "notice"; readonly text: string }
  | { readonly kind: "summary"; readonly text: string }
  | { readonly kind: "cut"; readonly entries: number }
  | { readonly kind: "returned"; readonly entries: number }
  | { readonly kind: "runEnded"; readonly state: RunState; readonly cause: string | null };

/**
 * Turns session states into new pieces. States may be skipped, repeated or start over after a lost connection:
 * what was shown is not shown again, and a partly shown answer continues (P5).
 */
export class TranscriptDiffer {
  /** The shown text of each answer. */
  readonly #shownText = new Map<MessageId, string>();
  readonly #endedMessages = new Set<MessageId>();
  /** How many thoughts of each answer were shown. */
  readonly #shownThoughts = new Map<MessageId, number>();
  readonly #startedTools = new Map<string, LiveTool>();
  readonly #inputs = new Map<string, Json>();
  readonly #endedTools = new Set<string>();
  readonly #shownEntries = new Set<number>();
  readonly #merger = new ReplayMerger();
  #visible = new Set<number>();
  #notices = new Map<number, string>();
  #endedRun: string | null = null;

  /** Treats the state as shown, except for the last `shownEntries` entries. */
  skipExisting(state: SessionState, shownEntries: number): void {
    const skipped = state.entries.slice(0, Math.max(0, state.entries.length - shownEntries));
    for (const entry of skipped) this.#markShown(entry);
    this.#visible = new Set<number>(state.entries.map(({ seq }) => seq));
    if (state.run !== null && terminalStates.has(state.run.state))
      this.#endedRun = runEndKey(state.run);
  }

  diff(state: SessionState): TranscriptPiece[] {
    return this.#merger.merge([
      // What returns is not there before the next read.
      ...(state.readAgain === "history_returned" ? [] : this.#removedAndRestored(state)),
      ...state.entries.flatMap((entry) => this.#entryPieces(entry)),
      ...this.#livePieces(state),
      ...this.#endPieces(state.run),
    ]);
  }

  #markShown(entry: EntryView): void {
    this.#shownEntries.add(entry.seq);
    if (entry.type === "notice") this.#notices.set(entry.seq, entry.text);
    if (entry.type !== "message") return;
    this.#endedMessages.add(entry.messageId);
    for (const part of entry.parts) {
      if (part.type === "tool_result") this.#endedTools.add(part.callId);
      if (part.type === "tool_call") this.#inputs.set(part.callId, part.input);
    }
  }

  #removedAndRestored(state: SessionState): TranscriptPiece[] {
    const visible = new Set<number>(state.entries.map(({ seq }) => seq));
    const first = state.entries[0]?.seq ?? Infinity;
    const removed = [...this.#visible].filter(
      (seq) => !visible.has(seq) && (seq >= first || visible.size === 0),
    );
    const restored = [...visible].filter(
      (seq) => this.#shownEntries.has(seq) && !this.#visible.has(seq),
    );
    const hadEntries = this.#visible.size > 0;
    this.#visible = visible;
    // Another version of a turn was chosen: one goes as the other comes.
    const isReplaced = restored.length > 0 && hadEntries;
    return [
      ...(removed.length > 0 && !isReplaced
        ? [{ kind: "cut", entries: removed.length } as const]
        : []),
      ...(restored.length > 0 && hadEntries
        ? [{ kind: "returned", entries: restored.length } as const]
        : []),
    ];
  }

  #entryPieces(entry: EntryView): TranscriptPiece[] {
    if (entry.type === "notice" && this.#notices.get(entry.seq) !== entry.text) {
      this.#markShown(entry);
      const link = noticeLink(entry);
      return [{ kind: "notice", text: link === null ? entry.text : `${entry.text} ${link}` }];
    }
    if (this.#shownEntries.has(entry.seq)) return [];
    const pieces = this.#newEntryPieces(entry);
    this.#markShown(entry);
    return pieces;
  }

  #newEntryPieces(entry: EntryView): TranscriptPiece[] {
    switch (entry.type) {
      case "message":
        return this.#messagePieces(entry);
      case "compaction":
        return [{ kind: "summary", text: entry.summary }];
      case "epoch":
      case "notice":
        return [];
    }
  }

  #messagePieces(entry: MessageEntry): TranscriptPiece[] {
    if (entry.role === "user") {
      const attachments = entry.parts.flatMap(nameOfFile);
      return [{ kind: "userMessage", text: textIn(entry.parts), attachments }];
    }
    if (entry.role === "tool") return entry.parts.flatMap((part) => this.#resultPieces(part));
    const { messageId, parts, partial } = entry;
    const thoughts = parts.flatMap((part) => (part.type === "reasoning" ? [part.text] : []));
    const newPieces = [
      ...this.#thoughtPieces(messageId, thoughts),
      ...this.#textPieces(messageId, textIn(parts)),
    ];
    const hasWords = this.#shownText.has(messageId);
    const end: TranscriptPiece[] = hasWords ? [{ kind: "textEnd", partial }] : [];
    const pictures = parts.flatMap((part): TranscriptPiece[] =>
      part.type === "image"
        ? [{ kind: "picture", name: part.name ?? transcriptStrings.image, size: part.size }]
        : [],
    );
    return [...newPieces, ...end, ...pictures];
  }

  #resultPieces(part: Part): TranscriptPiece[] {
    if (part.type !== "tool_result" || this.#endedTools.has(part.callId)) return [];
    const { callId, name, outcome, output, details } = part;
    this.#endedTools.add(callId);
    const liveTool = this.#startedTools.get(callId);
    const tookMs = liveTool?.endedAt == null ? null : liveTool.endedAt - liveTool.startedAt;
    const input = liveTool?.input ?? this.#inputs.get(callId) ?? null;
    const startPieces: TranscriptPiece[] =
      liveTool === undefined ? [{ kind: "toolStarted", name, input }] : [];
    const end = { name, input, outcome, output, tookMs, ...shownDetails(details) };
    return [...startPieces, { kind: "toolEnded", ...end }];
  }

  #livePieces({ live }: SessionState): TranscriptPiece[] {
    if (live === null) return [];
    const textPieces = live.messages.flatMap(({ messageId, parts }) =>
      this.#endedMessages.has(messageId)
        ? []
        : [
            ...this.#thoughtPieces(messageId, finishedThoughts(parts)),
            ...this.#textPieces(messageId, textIn(parts.map(liveText))),
          ],
    );
    return [...textPieces, ...live.tools.flatMap((tool) => this.#toolPieces(tool))];
  }

  #toolPieces(tool: LiveTool): TranscriptPiece[] {
    const { callId, name, input, outcome, output, startedAt, endedAt, details } = tool;
    if (this.#endedTools.has(callId)) return [];
    const isStarted = this.#startedTools.has(callId);
    this.#startedTools.set(callId, tool);
    const startPieces: TranscriptPiece[] = isStarted ? [] : [{ kind: "toolStarted", name, input }];
    if (outcome === null) return startPieces;
    this.#endedTools.add(callId);
    const tookMs = endedAt === null ? null : endedAt - startedAt;
    const end = { name, input, outcome, output, tookMs, ...shownDetails(details) };
    return [...startPieces, { kind: "toolEnded", ...end }];
  }

  #thoughtPieces(id: MessageId, thoughts: readonly string[]): TranscriptPiece[] {
    const shownCount = this.#shownThoughts.get(id) ?? 0;
    if (thoughts.length <= shownCount) return [];
    this.#shownThoughts.set(id, thoughts.length);
    return thoughts
      .slice(shownCount)
      .flatMap((text) => (text.trim() === "" ? [] : [{ kind: "thought", text } as const]));
  }

  /** What follows the shown text; all of it again if it does not continue that. */
  #textPieces(id: MessageId, text: string): TranscriptPiece[] {
    const shown = this.#shownText.get(id);
    if (text === "" || text === shown) return [];
    this.#shownText.set(id, text);
    if (shown === undefined || !text.startsWith(shown))
      return [{ kind: "text", text, isNew: true }];
    return [{ kind: "text", text: text.slice(shown.length), isNew: false }];
  }

  #endPieces(run: RunView | null): TranscriptPiece[] {
    if (run === null || !terminalStates.has(run.state)) return [];
    const end = runEndKey(run);
    if (end === this.#endedRun) return [];
    this.#endedRun = end;
    return [{ kind: "runEnded", state: run.state, cause: run.cause }];
  }
}

function runEndKey({ id, state }: RunView): string {
  return `${id} ${state}`;
}

function textIn(parts: readonly Part[]): string {
  return parts.map((part) => (part.type === "text" ? part.text : "")).join("");
}

function liveText({ kind, text }: { kind: "text" | "reasoning"; text: string }): Part {
  return { type: kind, text };
}

/** A thought is finished once something follows it. */
function finishedThoughts(parts: LiveMessage["parts"]): string[] {
  return parts.slice(0, -1).flatMap(({ kind, text }) => (kind === "reasoning" ? [text] : []));
}

function shownDetails(
  details: ToolDetails | undefined,
): Pick<ToolDetails, "refusal" | "changes" | "sources" | "child" | "files"> {
  const { refusal, changes, sources, child, files } = details ?? {};
  return { refusal, changes, sources, child, files };
}

function nameOfFile(part: Part): string[] {
  if (part.type === "file") return [part.name];
  return part.type === "image" ? [part.name ?? transcriptStrings.image] : [];
}

type PartialCause = Extract<TranscriptPiece, { kind: "textEnd" }>["partial"];

/**
 * Shown text cannot be taken back. So when an interrupted answer is given again, for example after a crash of its
 * host, it continues as long as it repeats the same text, and starts over only where it differs.
 */
export class ReplayMerger {
  /** The text of an interrupted answer, and the interruption that has not been shown yet. */
  #interruptedText = "";
  #pendingEnd: { readonly partial: PartialCause } | null = null;
  /** The text of the current answer, and whether it only repeats the interrupted one so far. */
  #text = "";
  #isRepeating = false;

  merge(pieces: readonly TranscriptPiece[]): TranscriptPiece[] {
    return pieces.flatMap((piece) => this.#mergePiece(piece));
  }

  #mergePiece(piece: TranscriptPiece): TranscriptPiece[] {
    switch (piece.kind) {
      case "text":
        return this.#mergeText(piece);
      case "textEnd":
        return piece.partial === undefined ? this.#mergeEnd(piece) : this.#holdEnd(piece.partial);
      case "notice":
      case "thought":
        return [piece];
      case "userMessage":
      case "picture":
      case "toolStarted":
      case "toolEnded":
      case "summary":
      case "cut":
      case "returned":
      case "runEnded":
        // Nothing can continue the answer any more.
        return [...this.#flush(), piece];
    }
  }

  #mergeText(piece: Extract<TranscriptPiece, { kind: "text" }>): TranscriptPiece[] {
    if (piece.isNew) {
      this.#text = "";
      this.#isRepeating = this.#pendingEnd !== null;
    }
    this.#text += piece.text;
    if (!this.#isRepeating) return [piece];
    if (this.#interruptedText.startsWith(this.#text)) return [];
    if (!this.#text.startsWith(this.#interruptedText)) return this.#startOver();
    this.#isRepeating = false;
    this.#pendingEnd = null;
    return [{ kind: "text", text: this.#text.slice(this.#interruptedText.length), isNew: false }];
  }

  #mergeEnd(end: TranscriptPiece): TranscriptPiece[] {
    const isDifferent = this.#isRepeating && this.#text !== this.#interruptedText;
    const restart = isDifferent ? this.#startOver() : [];
    this.#reset();
    return [...restart, end];
  }

  #holdEnd(partial: PartialCause): TranscriptPiece[] {
    // An attempt that stopped before it had repeated everything adds nothing.
    if (!this.#isRepeating) this.#interruptedText = this.#text;
    this.#isRepeating = false;
    this.#pendingEnd = { partial };
    return [];
  }

  #startOver(): TranscriptPiece[] {
    const text = this.#text;
    const ending = this.#flush();
    this.#text = text;
    return [...ending, { kind: "text", text, isNew: true }];
  }

  #flush(): TranscriptPiece[] {
    const ending: TranscriptPiece[] =
      this.#pendingEnd === null ? [] : [{ kind: "textEnd", partial: this.#pendingEnd.partial }];
    this.#reset();
    return ending;
  }

  #reset(): void {
    this.#interruptedText = "";
    this.#text = "";
    this.#pendingEnd = null;
    this.#isRepeating = false;
  }
}
