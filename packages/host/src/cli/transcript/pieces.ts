import {
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
  type ToolDetails,
  terminalStates,
} from "@holdfast/protocol";
import type { SessionState } from "@holdfast/client";

/** What is new for whoever reads along. */
export type TranscriptPiece =
  | { readonly kind: "said"; readonly text: string; readonly attachments: readonly string[] }
  /** More of an answer's words. `isUnclaimed`: an answer begins with it. */
  | { readonly kind: "words"; readonly text: string; readonly isNew: boolean }
  | { readonly kind: "wordsEnd"; readonly partial: MessageEntry["partial"] }
  /** What it thought before it went on. */
  | { readonly kind: "thought"; readonly text: string }
  | { readonly kind: "toolBegan"; readonly name: string; readonly input: Json }
  | {
      readonly kind: "toolEnded";
      readonly name: string;
      readonly input: Json;
      readonly outcome: ToolOutcome;
      readonly output: string;
      readonly tookMs: number | null;
      /** Why it was not run, where it was not. */
      readonly refusal?: string | undefined;
      /** What it did to files. */
      readonly changes?: readonly FileChange[] | undefined;
    }
  | { readonly kind: "notice"; readonly text: string }
  | { readonly kind: "summary"; readonly text: string }
  | { readonly kind: "cut"; readonly entries: number }
  | { readonly kind: "returned"; readonly entries: number }
  | { readonly kind: "runEnded"; readonly state: RunState; readonly cause: string | null };

type PartialCause = Extract<TranscriptPiece, { kind: "wordsEnd" }>["partial"];

/**
 * What was shown cannot be taken back. So where an answer was broken off and is given again, as after a crash of its
 * host, it is gone on with as long as it says the same, and only begun anew where it says something else.
 */
export class ReplayMerger {
  /** Words that were broken off, whether that has been told, and why it happened. */
  #before = "";
  #held: { readonly partial: PartialCause } | null = null;
  /** The answer that is being given, and whether all of it has been said before. */
  #said = "";
  #repeats = false;

  merge(pieces: readonly TranscriptPiece[]): TranscriptPiece[] {
    return pieces.flatMap((piece) => this.#one(piece));
  }

  #one(piece: TranscriptPiece): TranscriptPiece[] {
    switch (piece.kind) {
      case "words":
        return this.#words(piece);
      case "wordsEnd":
        return piece.partial === undefined ? this.#whole(piece) : this.#brokenOff(piece.partial);
      case "notice":
      case "thought":
        return [piece];
      case "said":
      case "toolBegan":
      case "toolEnded":
      case "summary":
      case "cut":
      case "returned":
      case "runEnded":
        // Nobody goes on with it any more.
        return [...this.#letGo(), piece];
    }
  }

  #words(piece: Extract<TranscriptPiece, { kind: "words" }>): TranscriptPiece[] {
    if (piece.isNew) {
      this.#said = "";
      this.#repeats = this.#held !== null;
    }
    this.#said += piece.text;
    if (!this.#repeats) return [piece];
    if (this.#before.startsWith(this.#said)) return [];
    if (!this.#said.startsWith(this.#before)) return this.#beginAnew();
    this.#repeats = false;
    this.#held = null;
    return [{ kind: "words", text: this.#said.slice(this.#before.length), isNew: false }];
  }

  #whole(end: TranscriptPiece): TranscriptPiece[] {
    const isOther = this.#repeats && this.#said !== this.#before;
    const anew = isOther ? this.#beginAnew() : [];
    this.#forget();
    return [...anew, end];
  }

  #brokenOff(partial: PartialCause): TranscriptPiece[] {
    // One that stopped before it had said all of the last one has added nothing to it.
    if (!this.#repeats) this.#before = this.#said;
    this.#repeats = false;
    this.#held = { partial };
    return [];
  }

  #beginAnew(): TranscriptPiece[] {
    const said = this.#said;
    const told = this.#letGo();
    this.#said = said;
    return [...told, { kind: "words", text: said, isNew: true }];
  }

  #letGo(): TranscriptPiece[] {
    const told: TranscriptPiece[] =
      this.#held === null ? [] : [{ kind: "wordsEnd", partial: this.#held.partial }];
    this.#forget();
    return told;
  }

  #forget(): void {
    this.#before = "";
    this.#said = "";
    this.#held = null;
    this.#repeats = false;
  }
}

/**
 * Turns the states of a session into what is new, piece by piece. States may be skipped, repeated or begin anew after
 * a lost connection: what was shown is not shown again, and what was shown of an answer is gone on with (P5).
 */
export class TranscriptDiffer {
  /** The words of each answer that were shown. */
  readonly #words = new Map<MessageId, string>();
  readonly #ended = new Set<MessageId>();
  /** How many of each answer's thoughts were told. */
  readonly #thoughts = new Map<MessageId, number>();
  readonly #begun = new Map<string, LiveTool>();
  readonly #inputs = new Map<string, Json>();
  readonly #finished = new Set<string>();
  readonly #entries = new Set<number>();
  readonly #rejoiner = new ReplayMerger();
  #visible = new Set<number>();
  #notices = new Map<number, string>();
  #run: string | null = null;

  /** Takes the state for shown, save the last `kept` entries. */
  skipExisting(state: SessionState, kept: number): void {
    const skipped = state.entries.slice(0, Math.max(0, state.entries.length - kept));
    for (const entry of skipped) this.#mark(entry);
    this.#visible = new Set<number>(state.entries.map(({ seq }) => seq));
    if (state.run !== null && terminalStates.has(state.run.state)) this.#run = runEndKey(state.run);
  }

  diff(state: SessionState): TranscriptPiece[] {
    return this.#rejoiner.merge([
      ...this.#cuts(state),
      ...state.entries.flatMap((entry) => this.#entry(entry)),
      ...this.#live(state),
      ...this.#end(state.run),
    ]);
  }

  #mark(entry: EntryView): void {
    this.#entries.add(entry.seq);
    if (entry.type === "notice") this.#notices.set(entry.seq, entry.text);
    if (entry.type !== "message") return;
    this.#ended.add(entry.messageId);
    for (const part of entry.parts) {
      if (part.type === "tool_result") this.#finished.add(part.callId);
      if (part.type === "tool_call") this.#inputs.set(part.callId, part.input);
    }
  }

  #cuts(state: SessionState): TranscriptPiece[] {
    const now = new Set<number>(state.entries.map(({ seq }) => seq));
    const first = state.entries[0]?.seq ?? Infinity;
    const gone = [...this.#visible].filter(
      (seq) => !now.has(seq) && (seq >= first || now.size === 0),
    );
    const back = [...now].filter((seq) => this.#entries.has(seq) && !this.#visible.has(seq));
    const hadAny = this.#visible.size > 0;
    this.#visible = now;
    return [
      ...(gone.length > 0 ? [{ kind: "cut", entries: gone.length } as const] : []),
      ...(back.length > 0 && hadAny ? [{ kind: "returned", entries: back.length } as const] : []),
    ];
  }

  #entry(entry: EntryView): TranscriptPiece[] {
    if (entry.type === "notice" && this.#notices.get(entry.seq) !== entry.text) {
      this.#mark(entry);
      return [{ kind: "notice", text: entry.text }];
    }
    if (this.#entries.has(entry.seq)) return [];
    const pieces = this.#newEntry(entry);
    this.#mark(entry);
    return pieces;
  }

  #newEntry(entry: EntryView): TranscriptPiece[] {
    switch (entry.type) {
      case "message":
        return this.#message(entry);
      case "compaction":
        return [{ kind: "summary", text: entry.summary }];
      case "epoch":
      case "notice":
        return [];
    }
  }

  #message(entry: MessageEntry): TranscriptPiece[] {
    if (entry.role === "user") {
      const attachments = entry.parts.flatMap(nameOfFile);
      return [{ kind: "said", text: textIn(entry.parts), attachments }];
    }
    if (entry.role === "tool") return entry.parts.flatMap((part) => this.#result(part));
    const { messageId, parts, partial } = entry;
    const thoughts = parts.flatMap((part) => (part.type === "reasoning" ? [part.text] : []));
    const shown = [...this.#thought(messageId, thoughts), ...this.#more(messageId, textIn(parts))];
    const hasWords = this.#words.has(messageId);
    const end: TranscriptPiece[] = hasWords ? [{ kind: "wordsEnd", partial }] : [];
    return [...shown, ...end];
  }

  #result(part: Part): TranscriptPiece[] {
    if (part.type !== "tool_result" || this.#finished.has(part.callId)) return [];
    const { callId, name, outcome, output, details } = part;
    this.#finished.add(callId);
    const began = this.#begun.get(callId);
    const tookMs = began?.endedAt == null ? null : began.endedAt - began.startedAt;
    const input = began?.input ?? this.#inputs.get(callId) ?? null;
    const begin: TranscriptPiece[] =
      began === undefined ? [{ kind: "toolBegan", name, input }] : [];
    const end = { name, input, outcome, output, tookMs, ...refusalAndChanges(details) };
    return [...begin, { kind: "toolEnded", ...end }];
  }

  #live({ live }: SessionState): TranscriptPiece[] {
    if (live === null) return [];
    const words = live.messages.flatMap(({ messageId, parts }) =>
      this.#ended.has(messageId)
        ? []
        : [
            ...this.#thought(messageId, finishedThoughts(parts)),
            ...this.#more(messageId, textIn(parts.map(liveText))),
          ],
    );
    return [...words, ...live.tools.flatMap((tool) => this.#tool(tool))];
  }

  #tool(tool: LiveTool): TranscriptPiece[] {
    const { callId, name, input, outcome, output, startedAt, endedAt, details } = tool;
    if (this.#finished.has(callId)) return [];
    const isKnown = this.#begun.has(callId);
    this.#begun.set(callId, tool);
    const begin: TranscriptPiece[] = isKnown ? [] : [{ kind: "toolBegan", name, input }];
    if (outcome === null) return begin;
    this.#finished.add(callId);
    const tookMs = endedAt === null ? null : endedAt - startedAt;
    const end = { name, input, outcome, output, tookMs, ...refusalAndChanges(details) };
    return [...begin, { kind: "toolEnded", ...end }];
  }

  #thought(id: MessageId, thoughts: readonly string[]): TranscriptPiece[] {
    const known = this.#thoughts.get(id) ?? 0;
    if (thoughts.length <= known) return [];
    this.#thoughts.set(id, thoughts.length);
    return thoughts
      .slice(known)
      .flatMap((text) => (text.trim() === "" ? [] : [{ kind: "thought", text } as const]));
  }

  /** What comes behind the words that were shown; all of it again where it does not go on from them. */
  #more(id: MessageId, text: string): TranscriptPiece[] {
    const shown = this.#words.get(id);
    if (text === "" || text === shown) return [];
    this.#words.set(id, text);
    if (shown === undefined || !text.startsWith(shown))
      return [{ kind: "words", text, isNew: true }];
    return [{ kind: "words", text: text.slice(shown.length), isNew: false }];
  }

  #end(run: RunView | null): TranscriptPiece[] {
    if (run === null || !terminalStates.has(run.state)) return [];
    const end = runEndKey(run);
    if (end === this.#run) return [];
    this.#run = end;
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

/** A thought is at its end when something follows it. */
function finishedThoughts(parts: LiveMessage["parts"]): string[] {
  return parts.slice(0, -1).flatMap(({ kind, text }) => (kind === "reasoning" ? [text] : []));
}

function refusalAndChanges(
  details: ToolDetails | undefined,
): Pick<ToolDetails, "refusal" | "changes"> {
  return { refusal: details?.refusal, changes: details?.changes };
}

function nameOfFile(part: Part): string[] {
  if (part.type === "file") return [part.name];
  return part.type === "image" ? [part.name ?? "image"] : [];
}
