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
import { fitTo } from "../../screen/text.ts";
import { type RenderStyle } from "../../screen/markdown.ts";
import { wrapBlock } from "../../transcript/rows.ts";
import { questionRows, type OpenApproval, fullCallRows } from "../approval.ts";
import type { ChatSession } from "../chat-session.ts";
import { type ChatView, InteractiveChat } from "../interactive-chat.ts";
import { statusRow, queuedRows } from "../status-rows.ts";
import { CardRows, type FoldedText, hasRunningTool, liveRows } from "./cards.ts";
import { ApprovalChoice, commandHintRows, SessionPicker } from "./choices.ts";

/** What the line of status knows beyond the session itself. It is asked for when it may have changed, and never waited for. */
export class FooterData {
  readonly #client: Pick<Client, "readUsage" | "listModels">;
  readonly #onNews: () => void;
  #usual: string;
  #asked = 0;
  #usage: { readonly of: SessionId; readonly totals: UsageTotalsView } | undefined;

  constructor(
    client: Pick<Client, "readUsage" | "listModels">,
    model: string | undefined,
    onNews: () => void,
  ) {
    this.#client = client;
    this.#usual = model ?? "";
    this.#onNews = onNews;
  }

  /** Who answers in a session that names nobody; empty while that is not known. */
  get defaultModel(): string {
    return this.#usual;
  }

  usageOf(id: SessionId | undefined): UsageTotalsView | undefined {
    return this.#usage?.of === id ? this.#usage?.totals : undefined;
  }

  async loadDefaultModel(): Promise<void> {
    const listed = await this.#client.listModels();
    if (!listed.ok || this.#usual !== "") return;
    this.#usual = listed.value.usual;
    this.#onNews();
  }

  async loadUsage(id: SessionId): Promise<void> {
    this.#asked += 1;
    const asked = this.#asked;
    const read = await this.#client.readUsage({ query: { sessionId: id } });
    // An answer may be overtaken by that to a later question.
    if (!read.ok || asked !== this.#asked) return;
    this.#usage = { of: id, totals: read.value.usage };
    this.#onNews();
  }
}

export interface ChatScreenProps {
  /** Rows that stand for good, in the order in which they came; each time only what is new is written. */
  readonly settled: string[];
  /** What may still change; nothing once the person has left. */
  readonly layout: ScreenLayout | null;
}

/** What stands goes above, into the terminal's own scroll-back; what may change is drawn anew below it. */
function ChatScreen({ settled, layout: frame }: ChatScreenProps): ReactElement {
  return h(
    Fragment,
    null,
    h(Static<string>, {
      items: settled,
      children: (rows: string, index: number) => h(Text, { key: index, wrap: "hard" }, rows),
    }),
    frame === null ? null : h(LiveRows, { frame }),
  );
}

function LiveRows({ frame: { rows, cursor } }: { readonly frame: ScreenLayout }): ReactElement {
  useCursor().setCursorPosition({ x: cursor.column, y: cursor.row });
  return h(
    Box,
    { flexDirection: "column" },
    // A row that is empty would have no height.
    rows.map((row, index) => h(Text, { key: index, wrap: "truncate-end" }, row === "" ? " " : row)),
  );
}

const framesPerSecond = 30;
const tickMs = 1_000;

/** A conversation on a terminal that can more than a plain one: cards, choices, a line that says how things stand. */
export class RichChat implements ChatView {
  readonly #chat: InteractiveChat;
  readonly #facts: FooterData;
  readonly #terminal: Terminal;
  readonly #output: Writable & TerminalOutput;
  readonly #choice = new ApprovalChoice();
  readonly #runningSince = new Map<string, number>();
  #picker: SessionPicker | null = null;
  #folded: FoldedText | null = null;
  readonly #unsettled: string[] = [];
  #view: ChatScreenProps = { settled: [], layout: null };
  #ink: Instance | null = null;
  #columns = 80;
  #isDrawing = false;
  #ticking: NodeJS.Timeout | undefined;

  constructor(
    reached: HostConnection,
    terminal: Terminal & { readonly output: Writable & TerminalOutput },
    model: string | undefined,
  ) {
    this.#terminal = terminal;
    this.#output = terminal.output;
    this.#facts = new FooterData(reached.client, model, () => this.draw([]));
    this.#chat = new InteractiveChat(reached, terminal, model, this);
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
    const onResize = (): void => this.#resized();
    // Before Ink's own: it erases as many rows as it drew.
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
    void this.#facts.loadDefaultModel();
    try {
      await this.#chat.readKeys((typed, key) => this.#press(typed, key));
    } finally {
      clearInterval(this.#ticking);
      output.off("resize", onResize);
      this.#drawNow("without a frame");
      this.#ink.unmount();
      await this.#ink.waitUntilExit();
      output.write(bracketedPaste.off);
    }
  }

  createRows(): CardRows {
    return new CardRows((folded) => void (this.#folded = folded));
  }

  askedRows(approval: OpenApproval, look: RenderStyle): string[] {
    return questionRows(approval, look);
  }

  pickSession(sessions: readonly SessionView[]): readonly string[] {
    this.#picker = new SessionPicker(sessions);
    return [];
  }

  onIdle(): void {
    const id = this.#chat.state?.session.id;
    if (id !== undefined) void this.#facts.loadUsage(id);
  }

  /** Once for all that happens in a turn of the loop. Ink draws no more often than it has to. */
  draw(finished: readonly string[]): void {
    this.#unsettled.push(...finished);
    if (this.#isDrawing) return;
    this.#isDrawing = true;
    queueMicrotask(() => {
      if (this.#isDrawing) this.#drawNow("with a frame");
    });
  }

  #drawNow(how: "with a frame" | "without a frame"): void {
    this.#isDrawing = false;
    const rows = this.#unsettled.splice(0);
    const { settled } = this.#view;
    this.#view = {
      settled: rows.length === 0 ? settled : [...settled, rows.join("\n") || " "],
      layout: how === "with a frame" ? this.#frame() : null,
    };
    this.#tick();
    this.#ink?.rerender(h(ChatScreen, this.#view));
  }

  #frame(): ScreenLayout {
    const chat = this.#chat;
    const look = chat.style();
    const { state, connection, editor, approval } = chat;
    const status = statusRow(state, connection, chat.hint);
    const { paint, width } = look;
    return layoutScreen(
      {
        live: [...chat.openRows(), ...liveRows(state, (tool) => this.#secondsOf(tool), look)],
        status: [
          ...queuedRows(state, look),
          ...(status === "" ? [] : [paint("dim", fitTo(status, width))]),
        ],
        choices: this.#offered(look),
        prompt: drawPrompt(approval?.kind === "question" ? "answer › " : "› ", editor, width),
        footer: footerRow(
          {
            model: state?.session.model ?? this.#facts.defaultModel,
            usage: this.#facts.usageOf(state?.session.id),
            connection,
            keys: this.#keys(),
          },
          look,
        ),
      },
      this.#output.rows ?? 24,
    );
  }

  #offered(look: RenderStyle): string[] {
    const { approval, editor } = this.#chat;
    if (this.#picker !== null) return this.#picker.rows(look);
    const waiting = this.#chat.state?.live?.approvals.length ?? 0;
    if (approval !== undefined && editor.text === "")
      return this.#choice.rows(approval, waiting, look);
    return commandHintRows(editor.text, look);
  }

  #keys(): string {
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
    // Something else may have written over it.
    if (key.ctrl === true && key.name === "l") this.#ink?.clear();
    if (key.ctrl === true && (key.name === "s" || key.name === "x"))
      return this.#sendNow(key.name === "s" ? "steer" : "interrupt");
    this.#chat.press(typed, key);
  }

  #pressPicker(key: Key): boolean {
    const pressed = this.#picker?.press(key);
    if (pressed === "moved") return true;
    // Who goes on typing does not want to choose any more.
    this.#picker = null;
    if (pressed === undefined) return false;
    if (pressed !== "closed") this.#chat.submit(`/resume ${pressed.id}`, "quiet");
    return true;
  }

  #pressChoice(typed: string | undefined, key: Key): boolean {
    const { approval, editor } = this.#chat;
    if (approval === undefined || editor.text !== "" || editor.isPasting) return false;
    const said = this.#choice.press(typed, key, approval);
    if (said === undefined) return false;
    if (said === "whole") this.draw(fullCallRows(approval, this.#chat.style()));
    else if (said !== "moved") this.#chat.answer(approval, said);
    return true;
  }

  /** Shows what was folded last. What stands cannot change any more, so it is shown below. */
  #unfold(): void {
    if (this.#folded === null) return;
    const { title, text } = this.#folded;
    const look = this.#chat.style();
    this.draw([
      "",
      ...wrapBlock(title, look, "▾ ", ["dim"]),
      ...wrapBlock(text.trimEnd(), look, "  ", ["dim"]),
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

  /** Time passes on the screen only while something is under way. */
  #tick(): void {
    if (hasRunningTool(this.#chat.state)) {
      this.#ticking ??= setInterval(() => this.draw([]), tickMs).unref();
      return;
    }
    clearInterval(this.#ticking);
    this.#ticking = undefined;
    this.#runningSince.clear();
  }

  #resized(): void {
    const columns = columnsOf(this.#output, 80);
    const { layout: frame } = this.#view;
    if (columns < this.#columns && frame !== null)
      this.#output.write(eraseReflowed(frame, columns));
    this.#columns = columns;
    this.draw([]);
  }
}
