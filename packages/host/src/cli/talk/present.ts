import type {
  EntryView,
  Json,
  LiveTool,
  MessageEntry,
  MessageId,
  Part,
  RunState,
  RunView,
  SessionState,
  ToolOutcome,
} from "@holdfast/protocol";
import { terminalStates } from "@holdfast/protocol";

/** What is new for whoever reads along. */
export type Piece =
  | { readonly kind: "said"; readonly text: string; readonly attachments: readonly string[] }
  /** More of an answer's words. `isNew`: an answer begins with it. */
  | { readonly kind: "words"; readonly text: string; readonly isNew: boolean }
  | { readonly kind: "wordsEnd"; readonly partial: MessageEntry["partial"] }
  | { readonly kind: "toolBegan"; readonly name: string; readonly input: Json }
  | {
      readonly kind: "toolEnded";
      readonly name: string;
      readonly outcome: ToolOutcome;
      readonly output: string;
      readonly tookMs: number | null;
      /** Why it was not run, where it was not. */
      readonly refusal?: string | undefined;
    }
  | { readonly kind: "notice"; readonly text: string }
  | { readonly kind: "summary"; readonly text: string }
  | { readonly kind: "cut"; readonly entries: number }
  | { readonly kind: "returned"; readonly entries: number }
  | { readonly kind: "runEnded"; readonly state: RunState; readonly cause: string | null };

/**
 * Turns the states of a session into what is new, piece by piece. States may be skipped, repeated or begin anew after
 * a lost connection: what was shown is not shown again, and what was shown of an answer is gone on with (P5).
 */
export class Presenter {
  /** The words of each answer that were shown. */
  readonly #words = new Map<MessageId, string>();
  readonly #ended = new Set<MessageId>();
  readonly #begun = new Map<string, LiveTool | null>();
  readonly #finished = new Set<string>();
  readonly #entries = new Set<number>();
  #visible = new Set<number>();
  #notices = new Map<number, string>();
  #run: string | null = null;

  /** Takes the state for shown, save the last `kept` entries. */
  skip(state: SessionState, kept: number): void {
    const skipped = state.entries.slice(0, Math.max(0, state.entries.length - kept));
    for (const entry of skipped) this.#mark(entry);
    this.#visible = new Set<number>(state.entries.map(({ seq }) => seq));
    if (state.run !== null && terminalStates.has(state.run.state)) this.#run = endOf(state.run);
  }

  present(state: SessionState): Piece[] {
    return [
      ...this.#cuts(state),
      ...state.entries.flatMap((entry) => this.#entry(entry)),
      ...this.#live(state),
      ...this.#end(state.run),
    ];
  }

  #mark(entry: EntryView): void {
    this.#entries.add(entry.seq);
    if (entry.type === "notice") this.#notices.set(entry.seq, entry.text);
    if (entry.type !== "message") return;
    this.#ended.add(entry.messageId);
    for (const part of entry.parts)
      if (part.type === "tool_result") this.#finished.add(part.callId);
    for (const part of entry.parts)
      if (part.type === "tool_call") this.#begun.set(part.callId, null);
  }

  #cuts(state: SessionState): Piece[] {
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

  #entry(entry: EntryView): Piece[] {
    if (entry.type === "notice" && this.#notices.get(entry.seq) !== entry.text) {
      this.#mark(entry);
      return [{ kind: "notice", text: entry.text }];
    }
    if (this.#entries.has(entry.seq)) return [];
    const pieces = this.#newEntry(entry);
    this.#mark(entry);
    return pieces;
  }

  #newEntry(entry: EntryView): Piece[] {
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

  #message(entry: MessageEntry): Piece[] {
    if (entry.role === "user") {
      const attachments = entry.parts.flatMap(nameOfFile);
      return [{ kind: "said", text: wordsIn(entry.parts), attachments }];
    }
    if (entry.role === "tool") return entry.parts.flatMap((part) => this.#result(part));
    const { messageId, parts, partial } = entry;
    const shown = this.#more(messageId, wordsIn(parts));
    const hasWords = this.#words.has(messageId);
    const end: Piece[] = hasWords ? [{ kind: "wordsEnd", partial }] : [];
    return [...shown, ...end];
  }

  #result(part: Part): Piece[] {
    if (part.type !== "tool_result" || this.#finished.has(part.callId)) return [];
    const { callId, name, outcome, output } = part;
    const refusal = part.details?.refusal;
    this.#finished.add(callId);
    const began = this.#begun.get(callId);
    const tookMs = began?.endedAt == null ? null : began.endedAt - began.startedAt;
    const begin: Piece[] = began === undefined ? [{ kind: "toolBegan", name, input: null }] : [];
    return [...begin, { kind: "toolEnded", name, outcome, output, tookMs, refusal }];
  }

  #live({ live }: SessionState): Piece[] {
    if (live === null) return [];
    const words = live.messages.flatMap(({ messageId, parts }) =>
      this.#ended.has(messageId) ? [] : this.#more(messageId, wordsIn(parts.map(liveText))),
    );
    return [...words, ...live.tools.flatMap((tool) => this.#tool(tool))];
  }

  #tool(tool: LiveTool): Piece[] {
    const { callId, name, input, outcome, output, startedAt, endedAt } = tool;
    if (this.#finished.has(callId)) return [];
    const isKnown = this.#begun.get(callId) != null;
    this.#begun.set(callId, tool);
    const begin: Piece[] = isKnown ? [] : [{ kind: "toolBegan", name, input }];
    if (outcome === null) return begin;
    this.#finished.add(callId);
    const tookMs = endedAt === null ? null : endedAt - startedAt;
    return [...begin, { kind: "toolEnded", name, outcome, output, tookMs }];
  }

  /** What comes behind the words that were shown; all of it again where it does not go on from them. */
  #more(id: MessageId, text: string): Piece[] {
    const shown = this.#words.get(id);
    if (text === "" || text === shown) return [];
    this.#words.set(id, text);
    if (shown === undefined || !text.startsWith(shown))
      return [{ kind: "words", text, isNew: true }];
    return [{ kind: "words", text: text.slice(shown.length), isNew: false }];
  }

  #end(run: RunView | null): Piece[] {
    if (run === null || !terminalStates.has(run.state)) return [];
    const end = endOf(run);
    if (end === this.#run) return [];
    this.#run = end;
    return [{ kind: "runEnded", state: run.state, cause: run.cause }];
  }
}

function endOf({ id, state }: RunView): string {
  return `${id} ${state}`;
}

function wordsIn(parts: readonly Part[]): string {
  return parts.map((part) => (part.type === "text" ? part.text : "")).join("");
}

function liveText({ kind, text }: { kind: "text" | "reasoning"; text: string }): Part {
  return { type: kind, text };
}

function nameOfFile(part: Part): string[] {
  if (part.type === "file") return [part.name];
  return part.type === "image" ? [part.name ?? "image"] : [];
}
