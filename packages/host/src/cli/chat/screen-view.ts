import { type LiveTool, modeOf, type SessionView } from "@holdfast/protocol";
import type { Terminal } from "../command.ts";
import { drawPrompt, LineEditor, type Key } from "../screen/line-editor.ts";
import { type RenderStyle, createPaint } from "../screen/paint.ts";
import { createScreen, type LiveRegion, type Screen } from "../screen/screen.ts";
import { fitTo } from "../screen/width.ts";
import type { TranscriptPiece } from "../transcript/pieces.ts";
import { PlainRows, type PieceRows, wrapBlock } from "../transcript/rows.ts";
import type { OpenApproval } from "../transcript/open-approval.ts";
import { approvalRows, fullCallRows, questionRows } from "./approval.ts";
import { CardRows, type FoldedText, hasRunningTool, liveRows } from "./cards.ts";
import type { Chat, ChatView } from "./chat.ts";
import { ApprovalChoice, commandHintRows, SessionPicker } from "./choices.ts";
import { FooterData, footerRow } from "./footer.ts";
import { layoutScreen } from "./layout.ts";
import { appendHistory, completeLine, listenToKeys, readHistory } from "./line-input.ts";
import { promptMark, queuedRows, statusRow } from "./status-rows.ts";

const frameMs = 33;
const tickMs = 1_000;

/** `plain` shows no cards, choices or footer. */
export type ScreenLook = "cards" | "plain";

/** A chat on a terminal: the transcript in its scrollback, and below it a few rows that are redrawn. */
export class ScreenView implements ChatView {
  readonly reopenedEntries = 8;
  readonly folder = process.cwd();
  readonly #chat: Chat;
  readonly #terminal: Terminal;
  readonly #look: ScreenLook;
  readonly #screen: Screen;
  readonly #editor: LineEditor;
  readonly #footerData: FooterData;
  readonly #choice = new ApprovalChoice();
  readonly #runningSince = new Map<string, number>();
  readonly #finished: string[] = [];
  #rows: PieceRows;
  #picker: SessionPicker | null = null;
  #folded: FoldedText | null = null;
  #drawTimer: NodeJS.Timeout | undefined;
  #drawnAt = -Infinity;
  #tickTimer: NodeJS.Timeout | undefined;
  #hasLeft = false;

  constructor(
    chat: Chat,
    terminal: Terminal,
    options: { readonly look: ScreenLook; readonly model: string | undefined },
  ) {
    this.#chat = chat;
    this.#terminal = terminal;
    this.#look = options.look;
    this.#screen = createScreen(terminal.output);
    this.#editor = new LineEditor(readHistory(chat.home), (text) =>
      chat.conversation.addPaste(text),
    );
    this.#footerData = new FooterData(chat.client, options.model, () => this.update());
    this.#rows = this.#createRows();
  }

  style(): RenderStyle {
    const { output, environment } = this.#terminal;
    return { width: this.#screen.width, paint: createPaint(output, environment) };
  }

  async run(): Promise<void> {
    const { input, output } = this.#terminal;
    const onResize = (): void => this.#drawNow(this.#region());
    const quit = (): void => this.#chat.leave();
    const stopListening = listenToKeys(input, (typed, key) => this.#press(typed, key));
    input.on("end", quit).on("error", quit);
    output.on?.("resize", onResize);
    this.update();
    if (this.#look === "cards") void this.#footerData.loadDefaultModel();
    try {
      await this.#chat.untilLeft();
    } finally {
      stopListening();
      input.off("end", quit).off("error", quit);
      output.off?.("resize", onResize);
      clearInterval(this.#tickTimer);
      this.#hasLeft = true;
      this.#drawNow({ rows: [] });
      this.#screen.close();
    }
  }

  print(rows: readonly string[]): void {
    // One at a time: an answer may have more rows than a call may have arguments.
    for (const row of rows) this.#finished.push(row);
    this.update();
  }

  startSession(heading: readonly string[]): void {
    this.#rows = this.#createRows();
    this.print(heading);
  }

  show(pieces: readonly TranscriptPiece[], asked: readonly OpenApproval[]): void {
    const style = this.style();
    const rowsFor = this.#look === "cards" ? questionRows : approvalRows;
    this.print([
      ...pieces.flatMap((piece) => this.#rows.add(piece, style)),
      ...asked.flatMap((approval) => rowsFor(approval, style)),
    ]);
  }

  /** Draws soon, but no faster than a person can see, so that a paste is not drawn letter by letter. */
  update(): void {
    if (this.#hasLeft) return;
    const waitMs = this.#drawnAt + frameMs - performance.now();
    this.#drawTimer ??= setTimeout(() => this.#drawNow(this.#region()), Math.max(0, waitMs));
  }

  offerSessions(sessions: readonly SessionView[], rows: readonly string[]): void {
    if (this.#look === "plain") return this.print(rows);
    this.#picker = new SessionPicker(sessions);
    this.update();
  }

  clearInput(): void {
    this.#editor.set("");
  }

  onIdle(): void {
    const id = this.#chat.state?.session.id;
    if (this.#look === "cards" && id !== undefined) void this.#footerData.loadUsage(id);
  }

  #createRows(): PieceRows {
    if (this.#look === "plain") return new PlainRows();
    return new CardRows((folded) => void (this.#folded = folded));
  }

  #drawNow(region: LiveRegion): void {
    clearTimeout(this.#drawTimer);
    this.#drawTimer = undefined;
    this.#drawnAt = performance.now();
    this.#screen.show(this.#finished.splice(0), region);
    this.#updateTick();
  }

  #region(): LiveRegion {
    const { state, connection, hint, approval } = this.#chat;
    const style = this.style();
    const status = statusRow(state, connection, hint);
    const open = this.#rows.openRows(style);
    const hasCards = this.#look === "cards";
    const mark = promptMark(hasCards && approval?.kind !== "question" ? undefined : approval);
    return layoutScreen(
      {
        live: hasCards
          ? [...open, ...liveRows(state, (tool) => this.#secondsOf(tool), style)]
          : open,
        status: [
          ...queuedRows(state, style),
          ...(status === "" ? [] : [style.paint("dim", fitTo(status, style.width))]),
        ],
        choices: hasCards ? this.#choiceRows(style) : [],
        prompt: drawPrompt(mark, this.#editor, style.width),
        footer: hasCards ? this.#footer(style) : undefined,
      },
      this.#screen.height,
    );
  }

  #footer(style: RenderStyle): string {
    const { state, connection } = this.#chat;
    return footerRow(
      {
        mode: state === undefined ? undefined : modeOf(state.session),
        model: state?.session.model ?? this.#footerData.defaultModel,
        usage: this.#footerData.usageOf(state?.session.id),
        connection,
        keys: this.#keyHints(),
      },
      style,
    );
  }

  #choiceRows(style: RenderStyle): string[] {
    const { approval, state } = this.#chat;
    if (this.#picker !== null) return this.#picker.rows(style);
    const waiting = state?.live?.approvals.length ?? 0;
    if (approval !== undefined && this.#editor.text === "")
      return this.#choice.rows(approval, waiting, style);
    return commandHintRows(this.#editor.text, style);
  }

  #keyHints(): string {
    const { isAnswering, approval } = this.#chat;
    if (approval !== undefined || this.#picker !== null) return "";
    if (!isAnswering) return "/help · Ctrl-D leaves";
    if (this.#editor.text === "") return "Ctrl-C stops";
    return "⏎ queues · ^S steers · ^X interrupts";
  }

  #press(typed: string | undefined, key: Key): void {
    if (this.#look === "cards" && (this.#pressPicker(key) || this.#pressChoice(typed, key)))
      return this.update();
    if (key.ctrl === true && key.name === "o") return this.#unfold();
    if (key.ctrl === true && (key.name === "s" || key.name === "x"))
      return this.#sendNow(key.name === "s" ? "steer" : "interrupt");
    this.#edit(typed, key);
  }

  #edit(typed: string | undefined, key: Key): void {
    const action = this.#editor.press(typed, key);
    if (action === "nothing") return;
    if (action === "interrupt") return this.#chat.interrupt();
    this.#chat.hint = "";
    if (action === "leave") this.#chat.leave();
    if (action === "submit") this.#submit(this.#editor.take());
    if (action === "complete") void this.#complete();
  }

  #submit(text: string): void {
    if (text.trim() !== "") appendHistory(this.#chat.home, text);
    void this.#chat.submit(text);
  }

  #pressPicker(key: Key): boolean {
    const pressed = this.#picker?.press(key);
    if (pressed === "moved") return true;
    // Typing on closes the picker.
    this.#picker = null;
    if (pressed === undefined) return false;
    if (pressed !== "closed") void this.#chat.submit(`/resume ${pressed.id}`, "quiet");
    return true;
  }

  #pressChoice(typed: string | undefined, key: Key): boolean {
    const { approval } = this.#chat;
    if (approval === undefined || this.#editor.text !== "" || this.#editor.isPasting) return false;
    const reply = this.#choice.press(typed, key, approval);
    if (reply === undefined) return false;
    if (reply === "whole") this.print(fullCallRows(approval, this.style()));
    else if (reply !== "moved") this.#chat.answer(approval, reply);
    return true;
  }

  /** Shows what was folded last. Permanent rows cannot change, so it is shown below. */
  #unfold(): void {
    if (this.#folded === null) return;
    const { title, text } = this.#folded;
    const style = this.style();
    this.print([
      "",
      ...wrapBlock(title, style, "▾ ", ["dim"]),
      ...wrapBlock(text.trimEnd(), style, "  ", ["dim"]),
    ]);
  }

  #sendNow(mode: "steer" | "interrupt"): void {
    if (this.#editor.text.trim() === "") return;
    const text = this.#editor.take();
    appendHistory(this.#chat.home, text);
    this.#chat.send(text, mode);
    this.update();
  }

  async #complete(): Promise<void> {
    const { text } = this.#editor;
    const { text: completed, choices } = await completeLine(text, this.#chat.conversation);
    // Don't overwrite what was typed meanwhile.
    if (this.#editor.text !== text) return;
    this.#editor.set(completed);
    this.#chat.hint = choices.join("  ");
  }

  #secondsOf({ callId }: LiveTool): number {
    const since = this.#runningSince.get(callId) ?? performance.now();
    this.#runningSince.set(callId, since);
    return Math.floor((performance.now() - since) / 1000);
  }

  /** Redraws every second, only while a tool is running. */
  #updateTick(): void {
    if (this.#look === "cards" && hasRunningTool(this.#chat.state)) {
      this.#tickTimer ??= setInterval(() => this.update(), tickMs).unref();
      return;
    }
    clearInterval(this.#tickTimer);
    this.#tickTimer = undefined;
    this.#runningSince.clear();
  }
}
