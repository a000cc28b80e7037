import { createInterface } from "node:readline";
import { liveRun, waitsForPerson } from "@holdfast/client";
import type { Terminal } from "../command.ts";
import { type RenderStyle, createPaint } from "../screen/paint.ts";
import { columnsOf } from "../screen/screen.ts";
import type { TranscriptPiece } from "../transcript/pieces.ts";
import { createPipeWriter, type TranscriptWriter } from "../transcript/writer.ts";
import { chatStrings } from "../strings/chat.ts";
import type { OpenApproval } from "../transcript/open-approval.ts";
import { approvalRows } from "./approval.ts";
import type { Chat, ChatView } from "./chat.ts";

/**
 * A chat over pipes: each line is a message, a command, or a reply to an approval, and waits for the previous one.
 */
export class PipeView implements ChatView {
  readonly reopenedEntries = 0;
  readonly folder = null;
  readonly #chat: Chat;
  readonly #terminal: Terminal;
  readonly #writer: TranscriptWriter;
  readonly #style: RenderStyle;
  #wake: () => void = () => undefined;

  constructor(chat: Chat, terminal: Terminal) {
    const { output, environment } = terminal;
    this.#chat = chat;
    this.#terminal = terminal;
    this.#style = { width: columnsOf(output, 100), paint: createPaint(output, environment) };
    this.#writer = createPipeWriter(terminal);
  }

  style(): RenderStyle {
    return this.#style;
  }

  async run(): Promise<void> {
    const { conversation } = this.#chat;
    for await (const line of createInterface({ input: this.#terminal.input })) {
      const next = await this.#chat.submit(line);
      if (next === "leave") break;
      if (next === "sent") await this.#untilIdle(await conversation.head());
    }
    conversation.leave();
    this.#writer.close();
  }

  print(rows: readonly string[]): void {
    for (const row of rows) this.#terminal.print(row);
  }

  startSession(): void {
    // A program that reads the answers knows what it asked for.
  }

  show(pieces: readonly TranscriptPiece[], asked: readonly OpenApproval[]): void {
    this.#writer.show(pieces);
    for (const approval of asked)
      this.#writer.note(approvalRows(approval, this.#style).join("\n").trim());
    this.#wake();
  }

  update(): void {
    const { connection, hint } = this.#chat;
    this.#writer.status(connection === "offline" ? chatStrings.connection.offline : hint);
    this.#wake();
  }

  offer(_: unknown, rows: readonly string[]): void {
    this.print(rows);
  }

  /** Resolves when everything sent was answered, or it is a person's turn. */
  async #untilIdle(head: number): Promise<void> {
    while (this.#chat.conversation.sessionId !== null && !this.#isIdle(head)) {
      const { promise, resolve } = Promise.withResolvers<void>();
      this.#wake = resolve;
      await promise;
    }
  }

  #isIdle(head: number): boolean {
    const { state, approval } = this.#chat;
    if (state === undefined || state.seq < head || state.inbox.length > 0) return false;
    const run = liveRun(state);
    if (run === null) return state.run !== null;
    return run.state === "paused" || (waitsForPerson(state) && approval !== undefined);
  }
}
