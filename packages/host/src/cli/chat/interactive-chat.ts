import {
  type ConnectionState,
  liveRun,
  type CommandRefusal,
  type SessionState,
  shortId,
} from "@holdfast/client";
import { type InputMode, type SessionView } from "@holdfast/protocol";
import type { Terminal } from "../command.ts";
import { sessionTitle } from "../transcript/describe.ts";
import type { HostConnection } from "../connection/connect.ts";
import { cleanLine } from "../screen/text.ts";
import { type Key, LineEditor } from "../screen/line-editor.ts";
import { type RenderStyle } from "../screen/markdown.ts";
import { createPaint } from "../screen/paint.ts";
import { type PieceRows } from "../transcript/rows.ts";
import { TranscriptDiffer } from "../transcript/pieces.ts";
import type { ApprovalReply, OpenApproval } from "./approval.ts";
import { completeLine, appendHistory, readHistory, listenToKeys } from "./line-input.ts";
import { ChatSession, type ChatListener } from "./chat-session.ts";
import { commandRows } from "./command-output.ts";
import { handleLine } from "./handle-line.ts";

/** How many of the last entries are shown when a session is reopened. */
const reopenedEntries = 8;
const doublePressMs = 2_000;

/** Renders a conversation at a keyboard. */
export interface ChatView {
  readonly width: number;
  createRows(): PieceRows;
  /** The permanent rows for an open approval. */
  askedRows(approval: OpenApproval, style: RenderStyle): string[];
  /** Redraws the changeable part below these permanent rows. */
  draw(finished: readonly string[]): void;
  /** Offers the sessions that these rows list, and returns the rows to show permanently. */
  pickSession(sessions: readonly SessionView[], rows: readonly string[]): readonly string[];
  /** A session was opened, or an answer has ended. */
  onIdle?(): void;
}

/**
 * A conversation at a keyboard, independent of its rendering: the transcript, the input line, and the meaning of
 * keys.
 */
export class InteractiveChat implements ChatListener {
  readonly conversation: ChatSession;
  readonly editor: LineEditor;
  readonly #terminal: Terminal;
  readonly #view: ChatView;
  readonly #home: string;
  readonly #leaving = Promise.withResolvers<void>();
  #differ = new TranscriptDiffer();
  #rows: PieceRows;
  #state: SessionState | undefined;
  #connection: ConnectionState = "live";
  #hint = "";
  #shownApprovals = new Set<string>();
  #interruptedAt = -Infinity;
  #queue: Promise<void> = Promise.resolve();

  constructor(
    connection: HostConnection,
    terminal: Terminal,
    model: string | undefined,
    view: ChatView,
  ) {
    this.#terminal = terminal;
    this.#view = view;
    this.#rows = view.createRows();
    this.#home = connection.config.home.value;
    this.editor = new LineEditor(readHistory(this.#home));
    this.conversation = new ChatSession(connection.client, this, model);
  }

  /** Resolves when the person leaves. */
  async readKeys(onKey: (typed: string | undefined, key: Key) => void): Promise<void> {
    const { input } = this.#terminal;
    const onSignal = (): void => this.interrupt();
    const quit = (): void => this.leave();
    const restore = listenToKeys(input, onKey);
    input.on("end", quit);
    process.on("SIGINT", onSignal).on("SIGTERM", quit).on("SIGHUP", quit);
    this.#view.draw([]);
    try {
      await this.#leaving.promise;
    } finally {
      process.off("SIGINT", onSignal).off("SIGTERM", quit).off("SIGHUP", quit);
      restore();
      this.conversation.leave();
    }
  }

  get state(): SessionState | undefined {
    return this.#state;
  }

  get connection(): ConnectionState {
    return this.#connection;
  }

  get hint(): string {
    return this.#hint;
  }

  get approval(): OpenApproval | undefined {
    return this.#state?.live?.approvals[0];
  }

  style(): RenderStyle {
    const { output, environment } = this.#terminal;
    return { width: this.#view.width, paint: createPaint(output, environment) };
  }

  /** What is being written, as it looks now. */
  openRows(): string[] {
    return this.#rows.openRows(this.style());
  }

  leave(): void {
    this.#leaving.resolve();
  }

  onState(state: SessionState, isFirst: boolean): void {
    const isOpened = isFirst && state.session.id !== this.#state?.session.id;
    const heading = isOpened ? this.#open(state) : [];
    this.#state = state;
    const style = this.style();
    const pieces = this.#differ.diff(state);
    const hasEnded = pieces.some(({ kind }) => kind === "runEnded");
    if (hasEnded) this.#hint = "";
    const rows = pieces.flatMap((piece) => this.#rows.add(piece, style));
    this.#view.draw([...heading, ...rows, ...this.#approvalRows(state)]);
    if (isOpened || hasEnded) this.#view.onIdle?.();
  }

  onConnection(state: ConnectionState): void {
    this.#connection = state;
    this.#view.draw([]);
  }

  onStatus(text: string): void {
    this.#hint = text;
    this.#view.draw([]);
  }

  onEnded(refusal: CommandRefusal): void {
    this.#view.draw(commandRows(refusal, this.style()));
    this.conversation.leave();
  }

  press(typed: string | undefined, key: Key): void {
    const action = this.editor.press(typed, key);
    if (action !== "interrupt" && action !== "nothing") this.#hint = "";
    switch (action) {
      case "interrupt":
        return this.interrupt();
      case "leave":
        return this.leave();
      case "submit":
        return this.submit(this.editor.take());
      case "complete":
        return void this.#complete();
      case "changed":
      case "redraw":
        return this.#view.draw([]);
      case "nothing":
        return undefined;
    }
  }

  /** Once stops the answer or clears the input; twice leaves. */
  interrupt(): void {
    const now = performance.now();
    if (now - this.#interruptedAt < doublePressMs) return this.leave();
    this.#interruptedAt = now;
    const isLive = this.#state !== undefined && liveRun(this.#state) !== null;
    this.editor.set("");
    this.#hint = isLive ? "Stopping … Ctrl-C again leaves." : "Ctrl-C again leaves.";
    if (isLive) this.submit("/stop", "quiet");
    this.#view.draw([]);
  }

  submit(text: string, origin: "typed" | "quiet" = "typed"): void {
    if (origin === "typed" && text.trim() !== "") appendHistory(this.#home, text);
    this.#view.draw([]);
    // The reply is for the approval shown when Enter was pressed, not for one that may replace it by then.
    const { conversation, approval } = this;
    this.#enqueue(async () => {
      const context = { conversation, approval, style: this.style(), folder: process.cwd() };
      const { rows, next, sessions = [] } = await handleLine(text, context);
      const shown = sessions.length > 0 ? this.#view.pickSession(sessions, rows) : rows;
      this.#view.draw(origin === "quiet" ? [] : shown);
      if (next === "leave") this.leave();
    });
  }

  /** Sends the input at once in another mode than queueing. */
  send(text: string, mode: InputMode): void {
    appendHistory(this.#home, text);
    this.#enqueue(async () => {
      const refusal = await this.conversation.send(text, mode);
      this.#view.draw(refusal === undefined ? [] : commandRows(refusal, this.style()));
    });
  }

  /** Replies to the very approval that was shown. */
  answer({ approvalId }: OpenApproval, reply: ApprovalReply): void {
    this.#enqueue(async () => {
      const refusal = await this.conversation.answer(approvalId, reply);
      const style = this.style();
      const confirmation = style.paint("dim", `— ${cleanLine(reply.answer ?? reply.decision)}`);
      this.#view.draw(refusal === undefined ? [confirmation] : commandRows(refusal, style));
    });
  }

  /** Runs tasks one after the other: what is typed first is sent first. */
  #enqueue(task: () => Promise<void>): void {
    this.#queue = this.#queue.then(task);
  }

  #open(state: SessionState): string[] {
    this.#differ = new TranscriptDiffer();
    this.#rows = this.#view.createRows();
    this.#differ.skipExisting(state, reopenedEntries);
    if (state.entries.length === 0) return [];
    const title = `${sessionTitle(state.session)} (${shortId(state.session.id)})`;
    const more = state.entries.length > reopenedEntries || state.earlier !== null ? ["…"] : [];
    return [this.style().paint("dim", `— ${title}`), ...more];
  }

  /** Shows each approval once; the prompt keeps it until it is answered. */
  #approvalRows(state: SessionState): string[] {
    const open = state.live?.approvals.filter(
      ({ approvalId }) => !this.#shownApprovals.has(approvalId),
    );
    return (open ?? []).flatMap((approval) => {
      this.#shownApprovals.add(approval.approvalId);
      return this.#view.askedRows(approval, this.style());
    });
  }

  async #complete(): Promise<void> {
    const { text } = this.editor;
    const { text: completed, choices } = await completeLine(text, this.conversation);
    // Don't overwrite what was typed meanwhile.
    if (this.editor.text !== text) return;
    this.editor.set(completed);
    this.#hint = choices.join("  ");
    this.#view.draw([]);
  }
}
