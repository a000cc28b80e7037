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
import { createPaint } from "../screen/screen.ts";
import { type PieceRows } from "../transcript/rows.ts";
import { TranscriptDiffer } from "../transcript/pieces.ts";
import type { ApprovalReply, OpenApproval } from "./approval.ts";
import { completeLine, appendHistory, readHistory, listenToKeys } from "./line-input.ts";
import { ChatSession, type ChatListener } from "./chat-session.ts";
import { commandRows } from "./command-output.ts";
import { handleLine } from "./handle-line.ts";

/** Of a session that is opened again, so much of its end is shown. */
const reopenedEntries = 8;
const doublePressMs = 2_000;

/** How a conversation at a keyboard looks. */
export interface ChatView {
  readonly width: number;
  createRows(): PieceRows;
  /** What is shown for good of something that asks for a person's word. */
  askedRows(approval: OpenApproval, look: RenderStyle): string[];
  /** Draws what may change anew, below rows that stay. */
  draw(finished: readonly string[]): void;
  /** Offers sessions, which these rows list, and answers which rows are to be shown for good. */
  pickSession(sessions: readonly SessionView[], rows: readonly string[]): readonly string[];
  /** The session was opened, or an answer has ended. */
  onIdle?(): void;
}

/** A conversation at a keyboard, whatever it looks like: what was said, what is typed, and what keys mean. */
export class InteractiveChat implements ChatListener {
  readonly conversation: ChatSession;
  readonly editor: LineEditor;
  readonly #terminal: Terminal;
  readonly #face: ChatView;
  readonly #home: string;
  readonly #left = Promise.withResolvers<void>();
  #presenter = new TranscriptDiffer();
  #rows: PieceRows;
  #state: SessionState | undefined;
  #connection: ConnectionState = "live";
  #hint = "";
  #asked = new Set<string>();
  #interruptedAt = -Infinity;
  #busy: Promise<void> = Promise.resolve();

  constructor(
    reached: HostConnection,
    terminal: Terminal,
    model: string | undefined,
    face: ChatView,
  ) {
    this.#terminal = terminal;
    this.#face = face;
    this.#rows = face.createRows();
    this.#home = reached.config.home.value;
    this.editor = new LineEditor(readHistory(this.#home));
    this.conversation = new ChatSession(reached.client, this, model);
  }

  /** Until the person leaves. */
  async readKeys(onKey: (typed: string | undefined, key: Key) => void): Promise<void> {
    const { input } = this.#terminal;
    const onSignal = (): void => this.interrupt();
    const quit = (): void => this.leave();
    const restore = listenToKeys(input, onKey);
    input.on("end", quit);
    process.on("SIGINT", onSignal).on("SIGTERM", quit).on("SIGHUP", quit);
    this.#face.draw([]);
    try {
      await this.#left.promise;
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
    return { width: this.#face.width, paint: createPaint(output, environment) };
  }

  /** What is being written, as it looks now. */
  openRows(): string[] {
    return this.#rows.openRows(this.style());
  }

  leave(): void {
    this.#left.resolve();
  }

  onState(state: SessionState, isFirst: boolean): void {
    const opened = isFirst && state.session.id !== this.#state?.session.id;
    const heading = opened ? this.#open(state) : [];
    this.#state = state;
    const look = this.style();
    const pieces = this.#presenter.diff(state);
    const hasEnded = pieces.some(({ kind }) => kind === "runEnded");
    if (hasEnded) this.#hint = "";
    const said = pieces.flatMap((piece) => this.#rows.add(piece, look));
    this.#face.draw([...heading, ...said, ...this.#ask(state)]);
    if (opened || hasEnded) this.#face.onIdle?.();
  }

  onConnection(state: ConnectionState): void {
    this.#connection = state;
    this.#face.draw([]);
  }

  onStatus(text: string): void {
    this.#hint = text;
    this.#face.draw([]);
  }

  onEnded(refused: CommandRefusal): void {
    this.#face.draw(commandRows(refused, this.style()));
    this.conversation.leave();
  }

  press(typed: string | undefined, key: Key): void {
    const act = this.editor.press(typed, key);
    if (act !== "interrupt" && act !== "nothing") this.#hint = "";
    switch (act) {
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
        return this.#face.draw([]);
      case "nothing":
        return undefined;
    }
  }

  /** Once stops what is being written, or takes back what is being typed; once more leaves. */
  interrupt(): void {
    const now = performance.now();
    if (now - this.#interruptedAt < doublePressMs) return this.leave();
    this.#interruptedAt = now;
    const isLive = this.#state !== undefined && liveRun(this.#state) !== null;
    this.editor.set("");
    this.#hint = isLive ? "Stopping … Ctrl-C again leaves." : "Ctrl-C again leaves.";
    if (isLive) this.submit("/stop", "quiet");
    this.#face.draw([]);
  }

  submit(text: string, how: "typed" | "quiet" = "typed"): void {
    if (how === "typed" && text.trim() !== "") appendHistory(this.#home, text);
    this.#face.draw([]);
    // What asks when a person presses Enter is what they speak of, and not what may ask in its place by then.
    const { conversation, approval } = this;
    this.#inTurn(async () => {
      const context = { conversation, approval, style: this.style(), folder: process.cwd() };
      const { rows, next, sessions = [] } = await handleLine(text, context);
      const shown = sessions.length > 0 ? this.#face.pickSession(sessions, rows) : rows;
      this.#face.draw(how === "quiet" ? [] : shown);
      if (next === "leave") this.leave();
    });
  }

  /** Sends what is typed at once, in another way than to wait its turn. */
  send(text: string, mode: InputMode): void {
    appendHistory(this.#home, text);
    this.#inTurn(async () => {
      const refused = await this.conversation.send(text, mode);
      this.#face.draw(refused === undefined ? [] : commandRows(refused, this.style()));
    });
  }

  /** Says yes or no to the very call that was shown, or answers the question. */
  answer({ approvalId }: OpenApproval, word: ApprovalReply): void {
    this.#inTurn(async () => {
      const refused = await this.conversation.answer(approvalId, word);
      const look = this.style();
      const said = look.paint("dim", `— ${cleanLine(word.answer ?? word.decision)}`);
      this.#face.draw(refused === undefined ? [said] : commandRows(refused, look));
    });
  }

  /** One after the other: what is typed first is sent first. */
  #inTurn(act: () => Promise<void>): void {
    this.#busy = this.#busy.then(act);
  }

  #open(state: SessionState): string[] {
    this.#presenter = new TranscriptDiffer();
    this.#rows = this.#face.createRows();
    this.#presenter.skipExisting(state, reopenedEntries);
    if (state.entries.length === 0) return [];
    const title = `${sessionTitle(state.session)} (${shortId(state.session.id)})`;
    const more = state.entries.length > reopenedEntries || state.earlier !== null ? ["…"] : [];
    return [this.style().paint("dim", `— ${title}`), ...more];
  }

  /** Each call is asked about once; the question stays in the prompt until it is answered. */
  #ask(state: SessionState): string[] {
    const open = state.live?.approvals.filter(({ approvalId }) => !this.#asked.has(approvalId));
    return (open ?? []).flatMap((approval) => {
      this.#asked.add(approval.approvalId);
      return this.#face.askedRows(approval, this.style());
    });
  }

  async #complete(): Promise<void> {
    const { text } = this.editor;
    const { text: completed, choices } = await completeLine(text, this.conversation);
    // What was typed meanwhile is not taken back.
    if (this.editor.text !== text) return;
    this.editor.set(completed);
    this.#hint = choices.join("  ");
    this.#face.draw([]);
  }
}
