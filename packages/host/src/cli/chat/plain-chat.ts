import type { SessionState } from "@holdfast/client";
import type { SessionView } from "@holdfast/protocol";
import type { Terminal } from "../command.ts";
import type { HostConnection } from "../connection/connect.ts";
import { createScreen, type Screen } from "../screen/screen.ts";
import { drawPrompt } from "../screen/line-editor.ts";
import { fitTo } from "../screen/text.ts";
import { type RenderStyle } from "../screen/markdown.ts";
import { PlainRows } from "../transcript/rows.ts";
import { approvalRows, type OpenApproval } from "./approval.ts";
import type { ChatSession } from "./chat-session.ts";
import { type ChatView, InteractiveChat } from "./interactive-chat.ts";
import { statusRow, queuedRows } from "./status-rows.ts";

/** A conversation on a plain terminal: what is said above, what is typed below, and neither in the other's way. */
export class PlainChat implements ChatView {
  readonly #chat: InteractiveChat;
  readonly #screen: Screen;
  readonly #terminal: Terminal;
  readonly #finished: string[] = [];
  #isDrawing = false;

  constructor(reached: HostConnection, terminal: Terminal, model: string | undefined) {
    this.#terminal = terminal;
    this.#screen = createScreen(terminal.output);
    this.#chat = new InteractiveChat(reached, terminal, model, this);
  }

  get conversation(): ChatSession {
    return this.#chat.conversation;
  }

  /** How the session stands when the person leaves. */
  get state(): SessionState | undefined {
    return this.#chat.state;
  }

  get width(): number {
    return this.#screen.width;
  }

  /** Until the person leaves. */
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

  askedRows(approval: OpenApproval, look: RenderStyle): string[] {
    return approvalRows(approval, look);
  }

  pickSession(_: readonly SessionView[], rows: readonly string[]): readonly string[] {
    return rows;
  }

  /** Once for all that happens in a turn of the loop: a paste is drawn once, not letter by letter. */
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
    const look = this.#chat.style();
    const prompt = drawPrompt(promptPrefix(approval), editor, look.width);
    const status = statusRow(state, connection, hint);
    const below = [
      ...queuedRows(state, look),
      ...(status === "" ? [] : [look.paint("dim", fitTo(status, look.width))]),
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
