import type { SessionState } from "@holdfast/client";
import type { SessionView } from "@holdfast/protocol";
import type { Terminal } from "../command.ts";
import type { HostConnection } from "../connection/connect.ts";
import { createScreen, type Screen } from "../screen/screen.ts";
import { drawPrompt } from "../screen/line-editor.ts";
import { fitTo } from "../screen/width.ts";
import { type RenderStyle } from "../screen/markdown.ts";
import { PlainRows } from "../transcript/rows.ts";
import { approvalRows, type OpenApproval } from "./approval.ts";
import type { ChatSession } from "./chat-session.ts";
import { type ChatView, InteractiveChat } from "./interactive-chat.ts";
import { statusRow, queuedRows } from "./status-rows.ts";

/** A conversation on a plain terminal: the transcript above, the input below. */
export class PlainChat implements ChatView {
  readonly #chat: InteractiveChat;
  readonly #screen: Screen;
  readonly #terminal: Terminal;
  readonly #finished: string[] = [];
  #isDrawing = false;

  constructor(connection: HostConnection, terminal: Terminal, model: string | undefined) {
    this.#terminal = terminal;
    this.#screen = createScreen(terminal.output);
    this.#chat = new InteractiveChat(connection, terminal, model, this);
  }

  get conversation(): ChatSession {
    return this.#chat.conversation;
  }

  /** The session's state when the person leaves. */
  get state(): SessionState | undefined {
    return this.#chat.state;
  }

  get width(): number {
    return this.#screen.width;
  }

  /** Resolves when the person leaves. */
  async run(): Promise<void> {
    const { output } = this.#terminal;
    const onResize = (): void => this.draw([]);
    output.on?.("resize", onResize);
    try {
      await this.#chat.readKeys((typed, key) => this.#chat.press(typed, key));
    } finally {
      output.off?.("resize", onResize);
      this.#drawNow();
      this.#screen.close();
    }
  }

  print(rows: readonly string[]): void {
    this.draw(rows);
  }

  createRows(): PlainRows {
    return new PlainRows();
  }

  askedRows(approval: OpenApproval, style: RenderStyle): string[] {
    return approvalRows(approval, style);
  }

  pickSession(_: readonly SessionView[], rows: readonly string[]): readonly string[] {
    return rows;
  }

  /** Draws once per turn of the event loop, so a paste is not drawn letter by letter. */
  draw(finished: readonly string[]): void {
    this.#finished.push(...finished);
    if (this.#isDrawing) return;
    this.#isDrawing = true;
    queueMicrotask(() => this.#drawNow());
  }

  #drawNow(): void {
    if (!this.#isDrawing) return;
    this.#isDrawing = false;
    const finished = this.#finished.splice(0);
    const { editor, state, connection, hint, approval } = this.#chat;
    const style = this.#chat.style();
    const prompt = drawPrompt(promptPrefix(approval), editor, style.width);
    const status = statusRow(state, connection, hint);
    const below = [
      ...queuedRows(state, style),
      ...(status === "" ? [] : [style.paint("dim", fitTo(status, style.width))]),
    ];
    const room = Math.max(1, this.#screen.height - below.length - prompt.rows.length - 1);
    const above = [...this.#chat.openRows().slice(-room), ...below];
    this.#screen.show(finished, {
      rows: [...above, ...prompt.rows],
      cursor: { row: above.length + prompt.row, column: prompt.column },
    });
  }
}

function promptPrefix(approval: OpenApproval | undefined): string {
  if (approval === undefined) return "› ";
  return approval.kind === "question" ? "answer › " : "o/s/a/d › ";
}
