import { emitKeypressEvents } from "node:readline";
import {
  type ConnectionState,
  liveRun,
  type Refused,
  type SessionState,
  shortId,
} from "@holdfast/protocol";
import type { Input, Terminal } from "../command.ts";
import type { Reached } from "../reach.ts";
import {
  createScreen,
  drawPrompt,
  fitTo,
  type Key,
  LineEditor,
  type Look,
  paintFor,
  type Screen,
} from "../screen/index.ts";
import { Presenter, RowMaker } from "../talk/index.ts";
import { titleOf } from "../describe-session.ts";
import { approvalRows, type OpenApproval } from "./approval.ts";
import { completeLine } from "./complete-line.ts";
import { Conversation, type Listener } from "./conversation.ts";
import { keepHistory, readHistory } from "./history-file.ts";
import { answerRows } from "./say-answer.ts";
import { statusRow, waitingRows } from "./status.ts";
import { handleTyped } from "./typed-line.ts";

/** Of a session that is opened again, so much of its end is shown. */
const shownAgain = 8;
const secondPressMs = 2_000;

/** A conversation on a terminal: what is said above, what is typed below, and neither in the other's way. */
export class TerminalChat implements Listener {
  readonly conversation: Conversation;
  readonly #screen: Screen;
  readonly #terminal: Terminal;
  readonly #home: string;
  readonly #editor: LineEditor;
  readonly #left = Promise.withResolvers<void>();
  #presenter = new Presenter();
  #rows = new RowMaker();
  #state: SessionState | undefined;
  #connection: ConnectionState = "live";
  #hint = "";
  #asked = new Set<string>();
  #interruptedAt = -Infinity;
  readonly #finished: string[] = [];
  #isDrawing = false;
  #busy: Promise<void> = Promise.resolve();

  constructor(reached: Reached, terminal: Terminal, model: string | undefined) {
    this.#terminal = terminal;
    this.#home = reached.config.home.value;
    this.#editor = new LineEditor(readHistory(this.#home));
    this.conversation = new Conversation(reached.client, this, model);
    this.#screen = createScreen(terminal.output);
  }

  /** Until the person leaves. */
  async run(): Promise<void> {
    const { input, output } = this.#terminal;
    const onKey = (typed: string | undefined, key: Key): void => this.#press(typed, key);
    const onResize = (): void => this.#draw([]);
    const onSignal = (): void => this.#interrupt();
    const leave = (): void => this.#left.resolve();
    const restore = listenToKeys(input, onKey);
    output.on?.("resize", onResize);
    input.on("end", leave);
    process.on("SIGINT", onSignal).on("SIGTERM", leave).on("SIGHUP", leave);
    this.#draw([]);
    try {
      await this.#left.promise;
    } finally {
      process.off("SIGINT", onSignal).off("SIGTERM", leave).off("SIGHUP", leave);
      output.off?.("resize", onResize);
      restore();
      this.conversation.leave();
      this.#drawNow();
      this.#screen.close();
    }
  }

  /** How the session stands when the person leaves. */
  get state(): SessionState | undefined {
    return this.#state;
  }

  print(rows: readonly string[]): void {
    this.#draw(rows);
  }

  onState(state: SessionState, isFirst: boolean): void {
    const opened = isFirst && state.session.id !== this.#state?.session.id;
    const heading = opened ? this.#open(state) : [];
    this.#state = state;
    const look = this.#look();
    const pieces = this.#presenter.present(state);
    if (pieces.some(({ kind }) => kind === "runEnded")) this.#hint = "";
    const said = pieces.flatMap((piece) => this.#rows.add(piece, look));
    this.#draw([...heading, ...said, ...this.#ask(state)]);
  }

  onConnection(state: ConnectionState): void {
    this.#connection = state;
    this.#draw([]);
  }

  onStatus(text: string): void {
    this.#hint = text;
    this.#draw([]);
  }

  onEnded(refused: Refused): void {
    this.#draw(answerRows(refused, this.#look()));
    this.conversation.leave();
  }

  #open(state: SessionState): string[] {
    this.#presenter = new Presenter();
    this.#rows = new RowMaker();
    this.#presenter.skip(state, shownAgain);
    if (state.entries.length === 0) return [];
    const title = `${titleOf(state.session)} (${shortId(state.session.id)})`;
    const more = state.entries.length > shownAgain || state.earlier !== null ? ["…"] : [];
    return [this.#look().paint("dim", `— ${title}`), ...more];
  }

  /** Each call is asked about once; the question stays in the prompt until it is answered. */
  #ask(state: SessionState): string[] {
    const open = state.live?.approvals.filter(({ approvalId }) => !this.#asked.has(approvalId));
    return (open ?? []).flatMap((approval) => {
      this.#asked.add(approval.approvalId);
      return approvalRows(approval, this.#look());
    });
  }

  get #approval(): OpenApproval | undefined {
    return this.#state?.live?.approvals[0];
  }

  #look(): Look {
    const { output, environment } = this.#terminal;
    return { width: this.#screen.width, paint: paintFor(output, environment) };
  }

  /** Once for all that happens in a turn of the loop: a paste is drawn once, not letter by letter. */
  #draw(finished: readonly string[]): void {
    this.#finished.push(...finished);
    if (this.#isDrawing) return;
    this.#isDrawing = true;
    queueMicrotask(() => this.#drawNow());
  }

  #drawNow(): void {
    if (!this.#isDrawing) return;
    this.#isDrawing = false;
    const finished = this.#finished.splice(0);
    const look = this.#look();
    const mark = promptMark(this.#approval);
    const prompt = drawPrompt(mark, this.#editor, look.width);
    const status = statusRow(this.#state, this.#connection, this.#hint);
    const below = [
      ...waitingRows(this.#state, look),
      ...(status === "" ? [] : [look.paint("dim", fitTo(status, look.width))]),
    ];
    const room = Math.max(1, this.#screen.height - below.length - prompt.rows.length - 1);
    const above = [...this.#rows.open(look).slice(-room), ...below];
    this.#screen.show(finished, {
      rows: [...above, ...prompt.rows],
      cursor: { row: above.length + prompt.row, column: prompt.column },
    });
  }

  #press(typed: string | undefined, key: Key): void {
    const act = this.#editor.press(typed, key);
    if (act !== "interrupt" && act !== "nothing") this.#hint = "";
    switch (act) {
      case "interrupt":
        return this.#interrupt();
      case "leave":
        return this.#left.resolve();
      case "submit":
        return this.#submit(this.#editor.take());
      case "complete":
        return void this.#complete();
      case "changed":
      case "redraw":
        return this.#draw([]);
      case "nothing":
        return undefined;
    }
  }

  /** Once stops what is being written, or takes back what is being typed; once more leaves. */
  #interrupt(): void {
    const now = performance.now();
    if (now - this.#interruptedAt < secondPressMs) return this.#left.resolve();
    this.#interruptedAt = now;
    const isLive = this.#state !== undefined && liveRun(this.#state) !== null;
    this.#editor.set("");
    this.#hint = isLive ? "Stopping … Ctrl-C again leaves." : "Ctrl-C again leaves.";
    if (isLive) this.#submit("/stop", "quiet");
    this.#draw([]);
  }

  #submit(text: string, how: "typed" | "quiet" = "typed"): void {
    if (how === "typed" && text.trim() !== "") keepHistory(this.#home, text);
    this.#draw([]);
    // One after the other: what is typed first is sent first.
    this.#busy = this.#busy.then(() => this.#handle(text, how));
  }

  async #handle(text: string, how: "typed" | "quiet"): Promise<void> {
    const { conversation } = this;
    const look = this.#look();
    const context = { conversation, approval: this.#approval, look, folder: process.cwd() };
    const { rows, next } = await handleTyped(text, context);
    this.#draw(how === "quiet" ? [] : rows);
    if (next === "leave") this.#left.resolve();
  }

  async #complete(): Promise<void> {
    const { text } = this.#editor;
    const { text: completed, choices } = await completeLine(text, this.conversation);
    // What was typed meanwhile is not taken back.
    if (this.#editor.text !== text) return;
    this.#editor.set(completed);
    this.#hint = choices.join("  ");
    this.#draw([]);
  }
}

function promptMark(approval: OpenApproval | undefined): string {
  if (approval === undefined) return "› ";
  return approval.kind === "question" ? "answer › " : "o/s/a/d › ";
}

function listenToKeys(
  input: Input,
  onKey: (typed: string | undefined, key: Key) => void,
): () => void {
  emitKeypressEvents(input);
  input.setRawMode?.(true);
  input.on("keypress", onKey);
  input.resume();
  return () => {
    input.off("keypress", onKey);
    input.setRawMode?.(false);
    input.pause();
  };
}
