import { Box, Static, Text, useCursor, type Instance, render } from "ink";
import { createElement as h, Fragment, type ReactElement } from "react";
import type { Writable } from "node:stream";
import { type Client, liveRun, type SessionState } from "@holdfast/client";
import {
  type SessionId,
  type UsageTotalsView,
  type LiveTool,
  type SessionView,
} from "@holdfast/protocol";
import { type ScreenLayout, eraseReflowed, footerRow, layoutScreen } from "./layout.ts";
import type { Terminal } from "../../command.ts";
import type { HostConnection } from "../../connection/connect.ts";
import { bracketedPaste, columnsOf, type TerminalOutput } from "../../screen/screen.ts";
import { drawPrompt, type Key } from "../../screen/line-editor.ts";
import { fitTo } from "../../screen/width.ts";
import { type RenderStyle } from "../../screen/markdown.ts";
import { wrapBlock } from "../../transcript/rows.ts";
import { questionRows, type OpenApproval, fullCallRows } from "../approval.ts";
import type { ChatSession } from "../chat-session.ts";
import { type ChatView, InteractiveChat } from "../interactive-chat.ts";
import { statusRow, queuedRows } from "../status-rows.ts";
import { CardRows, type FoldedText, hasRunningTool, liveRows } from "./cards.ts";
import { ApprovalChoice, commandHintRows, SessionPicker } from "./choices.ts";

const framesPerSecond = 30;
const tickMs = 1_000;

/** A conversation on a capable terminal: with cards, choices and a footer. */
export class RichChat implements ChatView {
  readonly #chat: InteractiveChat;
  readonly #footerData: FooterData;
  readonly #terminal: Terminal;
  readonly #output: Writable & TerminalOutput;
  readonly #choice = new ApprovalChoice();
  readonly #runningSince = new Map<string, number>();
  #picker: SessionPicker | null = null;
  #folded: FoldedText | null = null;
  readonly #newRows: string[] = [];
  #view: ChatScreenProps = { settled: [], layout: null };
  #ink: Instance | null = null;
  #columns = 80;
  #isDrawing = false;
  #timer: NodeJS.Timeout | undefined;

  constructor(
    connection: HostConnection,
    terminal: Terminal & { readonly output: Writable & TerminalOutput },
    model: string | undefined,
  ) {
    this.#terminal = terminal;
    this.#output = terminal.output;
    this.#footerData = new FooterData(connection.client, model, () => this.draw([]));
    this.#chat = new InteractiveChat(connection, terminal, model, this);
  }

  get conversation(): ChatSession {
    return this.#chat.conversation;
  }

  get state(): SessionState | undefined {
    return this.#chat.state;
  }

  get width(): number {
    return Math.max(10, columnsOf(this.#output, 80) - 1);
  }

  print(rows: readonly string[]): void {
    this.draw(rows);
  }

  async run(): Promise<void> {
    const output = this.#output;
    const onResize = (): void => this.#onResize();
    // Registered before Ink's own listener, which erases as many rows as it drew.
    output.on("resize", onResize);
    output.write(bracketedPaste.on);
    this.#columns = columnsOf(output, 80);
    const options = { stdout: output, stdin: this.#terminal.input, interactive: true };
    this.#ink = render(h(ChatScreen, this.#view), {
      ...options,
      exitOnCtrlC: false,
      patchConsole: false,
      maxFps: framesPerSecond,
    });
    void this.#footerData.loadDefaultModel();
    try {
      await this.#chat.readKeys((typed, key) => this.#press(typed, key));
    } finally {
      clearInterval(this.#timer);
      output.off("resize", onResize);
      this.#drawNow("without layout");
      this.#ink.unmount();
      await this.#ink.waitUntilExit();
      output.write(bracketedPaste.off);
    }
  }

  createRows(): CardRows {
    return new CardRows((folded) => void (this.#folded = folded));
  }

  askedRows(approval: OpenApproval, style: RenderStyle): string[] {
    return questionRows(approval, style);
  }

  pickSession(sessions: readonly SessionView[]): readonly string[] {
    this.#picker = new SessionPicker(sessions);
    return [];
  }

  onIdle(): void {
    const id = this.#chat.state?.session.id;
    if (id !== undefined) void this.#footerData.loadUsage(id);
  }

  /** Draws once per turn of the event loop. Ink limits the frame rate. */
  draw(finished: readonly string[]): void {
    this.#newRows.push(...finished);
    if (this.#isDrawing) return;
    this.#isDrawing = true;
    queueMicrotask(() => {
      if (this.#isDrawing) this.#drawNow("with layout");
    });
  }

  #drawNow(mode: "with layout" | "without layout"): void {
    this.#isDrawing = false;
    const rows = this.#newRows.splice(0);
    const { settled } = this.#view;
    this.#view = {
      settled: rows.length === 0 ? settled : [...settled, rows.join("\n") || " "],
      layout: mode === "with layout" ? this.#layout() : null,
    };
    this.#updateTimer();
    this.#ink?.rerender(h(ChatScreen, this.#view));
  }

  #layout(): ScreenLayout {
    const chat = this.#chat;
    const style = chat.style();
    const { state, connection, editor, approval } = chat;
    const status = statusRow(state, connection, chat.hint);
    const { paint, width } = style;
    return layoutScreen(
      {
        live: [...chat.openRows(), ...liveRows(state, (tool) => this.#secondsOf(tool), style)],
        status: [
          ...queuedRows(state, style),
          ...(status === "" ? [] : [paint("dim", fitTo(status, width))]),
        ],
        choices: this.#choiceRows(style),
        prompt: drawPrompt(approval?.kind === "question" ? "answer › " : "› ", editor, width),
        footer: footerRow(
          {
            model: state?.session.model ?? this.#footerData.defaultModel,
            usage: this.#footerData.usageOf(state?.session.id),
            connection,
            keys: this.#keyHints(),
          },
          style,
        ),
      },
      this.#output.rows ?? 24,
    );
  }

  #choiceRows(style: RenderStyle): string[] {
    const { approval, editor } = this.#chat;
    if (this.#picker !== null) return this.#picker.rows(style);
    const waiting = this.#chat.state?.live?.approvals.length ?? 0;
    if (approval !== undefined && editor.text === "")
      return this.#choice.rows(approval, waiting, style);
    return commandHintRows(editor.text, style);
  }

  #keyHints(): string {
    const { state, editor, approval } = this.#chat;
    if (approval !== undefined || this.#picker !== null) return "";
    if (!this.#isLive(state)) return "/help · Ctrl-D leaves";
    if (editor.text === "") return "Ctrl-C stops";
    return "⏎ queues · ^S steers · ^X interrupts";
  }

  #isLive(state: SessionState | undefined): boolean {
    return state !== undefined && liveRun(state) !== null;
  }

  #press(typed: string | undefined, key: Key): void {
    if (this.#pressPicker(key) || this.#pressChoice(typed, key)) return this.draw([]);
    if (key.ctrl === true && key.name === "o") return this.#unfold();
    // Something else may have written over the screen.
    if (key.ctrl === true && key.name === "l") this.#ink?.clear();
    if (key.ctrl === true && (key.name === "s" || key.name === "x"))
      return this.#sendNow(key.name === "s" ? "steer" : "interrupt");
    this.#chat.press(typed, key);
  }

  #pressPicker(key: Key): boolean {
    const pressed = this.#picker?.press(key);
    if (pressed === "moved") return true;
    // Typing on closes the picker.
    this.#picker = null;
    if (pressed === undefined) return false;
    if (pressed !== "closed") this.#chat.submit(`/resume ${pressed.id}`, "quiet");
    return true;
  }

  #pressChoice(typed: string | undefined, key: Key): boolean {
    const { approval, editor } = this.#chat;
    if (approval === undefined || editor.text !== "" || editor.isPasting) return false;
    const reply = this.#choice.press(typed, key, approval);
    if (reply === undefined) return false;
    if (reply === "whole") this.draw(fullCallRows(approval, this.#chat.style()));
    else if (reply !== "moved") this.#chat.answer(approval, reply);
    return true;
  }

  /** Shows what was folded last. Permanent rows cannot change, so it is shown below. */
  #unfold(): void {
    if (this.#folded === null) return;
    const { title, text } = this.#folded;
    const style = this.#chat.style();
    this.draw([
      "",
      ...wrapBlock(title, style, "▾ ", ["dim"]),
      ...wrapBlock(text.trimEnd(), style, "  ", ["dim"]),
    ]);
  }

  #sendNow(mode: "steer" | "interrupt"): void {
    const { editor } = this.#chat;
    if (editor.text.trim() !== "") this.#chat.send(editor.take(), mode);
    this.draw([]);
  }

  #secondsOf({ callId }: LiveTool): number {
    const since = this.#runningSince.get(callId) ?? performance.now();
    this.#runningSince.set(callId, since);
    return Math.floor((performance.now() - since) / 1000);
  }

  /** Redraws every second, only while a tool is running. */
  #updateTimer(): void {
    if (hasRunningTool(this.#chat.state)) {
      this.#timer ??= setInterval(() => this.draw([]), tickMs).unref();
      return;
    }
    clearInterval(this.#timer);
    this.#timer = undefined;
    this.#runningSince.clear();
  }

  #onResize(): void {
    const columns = columnsOf(this.#output, 80);
    const { layout } = this.#view;
    if (columns < this.#columns && layout !== null)
      this.#output.write(eraseReflowed(layout, columns));
    this.#columns = columns;
    this.draw([]);
  }
}

export interface ChatScreenProps {
  /** Permanent rows, in order; only new ones are written. */
  readonly settled: string[];
  /** The changeable part; `null` once the person has left. */
  readonly layout: ScreenLayout | null;
}

/** Permanent rows go into the terminal's own scrollback; the changeable part is redrawn below. */
function ChatScreen({ settled, layout }: ChatScreenProps): ReactElement {
  return h(
    Fragment,
    null,
    h(Static<string>, {
      items: settled,
      children: (rows: string, index: number) => h(Text, { key: index, wrap: "hard" }, rows),
    }),
    layout === null ? null : h(LiveRows, { layout }),
  );
}

function LiveRows({ layout: { rows, cursor } }: { readonly layout: ScreenLayout }): ReactElement {
  useCursor().setCursorPosition({ x: cursor.column, y: cursor.row });
  return h(
    Box,
    { flexDirection: "column" },
    // An empty row would have no height.
    rows.map((row, index) => h(Text, { key: index, wrap: "truncate-end" }, row === "" ? " " : row)),
  );
}

/** What the footer shows beyond the session itself. Loaded when it may have changed, and never waited for. */
export class FooterData {
  readonly #client: Pick<Client, "readUsage" | "listModels">;
  readonly #onChange: () => void;
  #defaultModel: string;
  #requests = 0;
  #usage: { readonly sessionId: SessionId; readonly totals: UsageTotalsView } | undefined;

  constructor(
    client: Pick<Client, "readUsage" | "listModels">,
    model: string | undefined,
    onChange: () => void,
  ) {
    this.#client = client;
    this.#defaultModel = model ?? "";
    this.#onChange = onChange;
  }

  /** The model of sessions that name none; empty until it is known. */
  get defaultModel(): string {
    return this.#defaultModel;
  }

  usageOf(id: SessionId | undefined): UsageTotalsView | undefined {
    return this.#usage?.sessionId === id ? this.#usage?.totals : undefined;
  }

  async loadDefaultModel(): Promise<void> {
    const listed = await this.#client.listModels();
    if (!listed.ok || this.#defaultModel !== "") return;
    this.#defaultModel = listed.value.usual;
    this.#onChange();
  }

  async loadUsage(id: SessionId): Promise<void> {
    this.#requests += 1;
    const request = this.#requests;
    const read = await this.#client.readUsage({ query: { sessionId: id } });
    // A later request may have been answered first.
    if (!read.ok || request !== this.#requests) return;
    this.#usage = { sessionId: id, totals: read.value.usage };
    this.#onChange();
  }
}
