import { type listUsableSkills, liveRun } from "@holdfast/client";
import { type LiveTool, modeOf } from "@holdfast/protocol";
import type { Terminal } from "../command.ts";
import { drawPrompt, LineEditor, type Key } from "../screen/line-editor.ts";
import { type RenderStyle, createPaint } from "../screen/paint.ts";
import { chatStrings } from "../strings/chat.ts";
import { createScreen, type LiveRegion, type Screen } from "../screen/screen.ts";
import { fitTo } from "../screen/width.ts";
import type { TranscriptPiece } from "../transcript/pieces.ts";
import { PlainRows, type PieceRows, wrapBlock } from "../transcript/rows.ts";
import type { OpenApproval } from "../transcript/open-approval.ts";
import { approvalRows, fullCallRows, questionRows } from "./approval.ts";
import { CardRows, type FoldedText, hasRunningTool, liveRows } from "./cards.ts";
import type { Chat, ChatView } from "./chat.ts";
import { spinnerMs } from "./activity.ts";
import { ApprovalChoice } from "./choices.ts";
import { FooterData, footerRow } from "./footer.ts";
import { layoutScreen } from "./layout.ts";
import { appendHistory, completeLine, listenToKeys, readHistory } from "./line-input.ts";
import { listFiles, namesPicture, readPastedPicture, suggestFiles } from "./local-files.ts";
import { type Offer, Picker } from "./picker.ts";
import { promptMark, queuedRows, runActivity, statusRow } from "./status-rows.ts";
import { suggestCommands, Suggestions } from "./suggestions.ts";

const frameMs = 33;

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
  #picker: Picker | null = null;
  #files: readonly string[] | null = null;
  #skills: Awaited<ReturnType<typeof listUsableSkills>> | null = null;
  readonly #suggestions = new Suggestions();
  #run: { readonly id: string; readonly since: number } | null = null;
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
    this.#editor = new LineEditor(readHistory(chat.home), (text) => this.#pasted(text));
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
      // What was written so far stays on the screen.
      this.#finished.push(...this.#rows.openRows(this.style()));
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

  offer(offer: Offer, rows: readonly string[]): void {
    if (this.#look === "plain") return this.print(rows);
    this.#picker = new Picker(offer);
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
    const { state, connection, hint, approval, sending } = this.#chat;
    const style = this.style();
    const status = statusRow(state, connection, hint, this.#elapsedMs());
    const open = this.#rows.openRows(style);
    const hasCards = this.#look === "cards";
    const mark = promptMark(hasCards && approval?.kind !== "question" ? undefined : approval);
    const picker = this.#picker;
    const prompt =
      picker === null
        ? drawPrompt(mark, this.#editor, style.width)
        : drawPrompt(
            `${picker.title} › `,
            { text: picker.filter, cursor: picker.filter.length },
            style.width,
          );
    return layoutScreen(
      {
        live: hasCards
          ? [...open, ...liveRows(state, (tool) => this.#secondsOf(tool), style)]
          : open,
        status: [
          ...queuedRows(state, sending, style),
          ...(status === "" ? [] : [style.paint("dim", fitTo(status, style.width))]),
        ],
        choices: hasCards ? this.#choiceRows(style) : [],
        prompt,
        footer: hasCards ? this.#footer(style) : undefined,
      },
      this.#screen.height,
    );
  }

  #footer(style: RenderStyle): string {
    const { state, connection, conversation } = this.#chat;
    const next = conversation.newSession;
    const { defaultModel } = this.#footerData;
    return footerRow(
      {
        mode: state === undefined ? next.mode : modeOf(state.session),
        model: (state === undefined ? next.model : state.session.model) ?? defaultModel,
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
    this.#suggest();
    return this.#suggestions.rows(style);
  }

  #suggest(): void {
    const { text } = this.#editor;
    if (text.startsWith("/"))
      return this.#suggestions.set(text, suggestCommands(text, this.#knownSkills()));
    const files = /(?:^|[\s(])@/.test(text) ? this.#listFiles() : [];
    this.#suggestions.set(text, suggestFiles(text, files), "first");
  }

  /** Lists the folder once for each message. */
  #listFiles(): readonly string[] {
    if (this.#files === null) void this.#loadFiles();
    return this.#files ?? [];
  }

  /** Read when a command is begun, and again for the next one. */
  #knownSkills(): Awaited<ReturnType<typeof listUsableSkills>> {
    if (this.#skills === null) void this.#loadSkills();
    return this.#skills ?? [];
  }

  async #loadSkills(): Promise<void> {
    this.#skills = [];
    this.#skills = await this.#chat.conversation.skills().catch(() => []);
    this.update();
  }

  async #loadFiles(): Promise<void> {
    this.#files = [];
    this.#files = await listFiles(this.folder);
    this.update();
  }

  #pasted(text: string): void {
    this.#chat.conversation.addPaste(text);
    const label = this.#chat.conversation.foldPaste(text);
    if (label !== undefined) this.#editor.replace(text, label);
    if (namesPicture(text)) void this.#attachPicture(text);
  }

  /** A dropped or pasted picture is named by its label, and attached to the message. */
  async #attachPicture(pasted: string): Promise<void> {
    const picture = await readPastedPicture(pasted);
    if (picture?.kind !== "attach") return;
    this.#editor.replace(pasted, this.#chat.conversation.addPicture(picture));
    this.update();
  }

  #keyHints(): string {
    const { isAnswering, approval } = this.#chat;
    if (approval !== undefined || this.#picker !== null) return "";
    if (!isAnswering) return chatStrings.keys.idle;
    return this.#editor.text === "" ? chatStrings.keys.answering : chatStrings.keys.typing;
  }

  #press(typed: string | undefined, key: Key): void {
    if (this.#look === "cards" && this.#pressCards(typed, key)) return this.update();
    if (key.name === "escape") return this.#chat.stop();
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
    this.#files = null;
    this.#skills = null;
    if (text.trim() !== "") appendHistory(this.#chat.home, text);
    void this.#chat.submit(text);
  }

  #pressCards(typed: string | undefined, key: Key): boolean {
    return (
      this.#pressPicker(typed, key) || this.#pressChoice(typed, key) || this.#pressSuggestion(key)
    );
  }

  #pressPicker(typed: string | undefined, key: Key): boolean {
    if (this.#picker === null) return false;
    const pressed = this.#picker.press(typed, key);
    if (pressed === "changed") return true;
    this.#picker = null;
    if (pressed === "closed") return true;
    // A session that is opened shows itself; other changes are confirmed.
    const origin = pressed.command.startsWith("/resume") ? "quiet" : "typed";
    void this.#chat.submit(pressed.command, origin);
    return true;
  }

  #pressSuggestion(key: Key): boolean {
    if (this.#editor.isPasting || this.#editor.isRecalling) return false;
    const pressed = this.#suggestions.press(key);
    if (pressed === undefined) return false;
    if (pressed === "moved") return true;
    this.#editor.set(pressed.text);
    if (pressed.effect === "submit") this.#submit(this.#editor.take());
    return true;
  }

  #pressChoice(typed: string | undefined, key: Key): boolean {
    const { approval } = this.#chat;
    if (approval === undefined || this.#editor.text !== "" || this.#editor.isPasting) return false;
    const reply = this.#choice.press(typed, key, approval);
    if (reply === undefined) return false;
    if (reply === "reason") this.#editor.set(chatStrings.approval.reasonStart);
    else if (reply === "whole") this.print(fullCallRows(approval, this.style()));
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

  /** How long the current run has been going on. */
  #elapsedMs(): number {
    const { state } = this.#chat;
    const run = state === undefined ? null : liveRun(state);
    if (run === null) this.#run = null;
    else if (this.#run?.id !== run.id) this.#run = { id: run.id, since: performance.now() };
    return this.#run === null ? 0 : performance.now() - this.#run.since;
  }

  /** Turns the spinner, only while the host works. */
  #updateTick(): void {
    const { state } = this.#chat;
    if (!this.#hasLeft && runActivity(state).isBusy)
      this.#tickTimer ??= setInterval(() => this.update(), spinnerMs).unref();
    else {
      clearInterval(this.#tickTimer);
      this.#tickTimer = undefined;
    }
    if (!hasRunningTool(state)) this.#runningSince.clear();
  }
}
