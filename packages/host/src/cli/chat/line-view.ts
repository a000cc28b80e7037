import { createInterface } from "node:readline";
import type { Terminal } from "../command.ts";
import { type RenderStyle, createPaint } from "../screen/paint.ts";
import { columnsOf } from "../screen/screen.ts";
import type { TranscriptPiece } from "../transcript/pieces.ts";
import { PlainRows } from "../transcript/rows.ts";
import type { OpenApproval } from "../transcript/open-approval.ts";
import { approvalRows } from "./approval.ts";
import { type Chat, type ChatView } from "./chat.ts";
import { appendHistory } from "./line-input.ts";
import { statusRow, promptMark } from "./status-rows.ts";

const maxEchoed = 20;
const endOfTransmission = "\u0004";

/**
 * A chat on a terminal that cannot move its cursor. The terminal itself edits and echoes a line; rows are printed once
 * they are final.
 */
export class LineView implements ChatView {
  readonly reopenedEntries = 8;
  readonly folder = process.cwd();
  readonly #chat: Chat;
  readonly #terminal: Terminal;
  #rows = new PlainRows();
  /** Messages that the terminal has already shown, as they were typed. */
  #echoed: string[] = [];
  #status = "";
  #isPrompting = false;

  constructor(chat: Chat, terminal: Terminal) {
    this.#chat = chat;
    this.#terminal = terminal;
  }

  style(): RenderStyle {
    const { output, environment } = this.#terminal;
    const width = Math.max(10, columnsOf(output, 80) - 1);
    return { width, paint: createPaint(output, environment) };
  }

  async run(): Promise<void> {
    const lines = createInterface({ input: this.#terminal.input, terminal: false });
    lines.on("line", (line) => void this.#takeLine(line));
    lines.on("close", () => this.#chat.leave());
    this.#prompt();
    try {
      await this.#chat.untilLeft();
    } finally {
      lines.close();
      this.#write([]);
    }
  }

  print(rows: readonly string[]): void {
    if (rows.length === 0) return;
    const wasPrompting = this.#isPrompting;
    this.#write(rows);
    if (wasPrompting) this.#prompt();
  }

  startSession(heading: readonly string[]): void {
    this.#rows = new PlainRows();
    this.print(heading);
  }

  show(pieces: readonly TranscriptPiece[], asked: readonly OpenApproval[]): void {
    const style = this.style();
    const rowsOf = (piece: TranscriptPiece): string[] => {
      const rows = this.#rows.add(piece, style);
      return this.#wasEchoed(piece) ? [] : rows;
    };
    this.print([
      ...pieces.flatMap(rowsOf),
      ...asked.flatMap((approval) => approvalRows(approval, style)),
    ]);
    if (asked.length > 0 || pieces.some(({ kind }) => kind === "runEnded")) this.#prompt();
  }

  /** Prints a status when it begins. */
  update(): void {
    const { connection, hint } = this.#chat;
    const status = statusRow(undefined, connection, hint, 0);
    if (status !== "" && status !== this.#status) this.print([status]);
    this.#status = status;
  }

  offer(_: unknown, rows: readonly string[]): void {
    this.print(rows);
  }

  async #takeLine(line: string): Promise<void> {
    this.#isPrompting = false;
    // Some terminals pass Ctrl-D on.
    if (line === endOfTransmission) return this.#chat.leave();
    if (line.trim() !== "") appendHistory(this.#chat.home, line);
    this.#echoed = [...this.#echoed, line.trim()].slice(-maxEchoed);
    const next = await this.#chat.submit(line);
    if (next === "stay") this.#prompt();
  }

  #wasEchoed(piece: TranscriptPiece): boolean {
    if (piece.kind !== "userMessage" || !this.#echoed.includes(piece.text)) return false;
    this.#echoed.splice(this.#echoed.indexOf(piece.text), 1);
    return true;
  }

  #write(rows: readonly string[]): void {
    const lines = this.#isPrompting ? ["", ...rows] : rows;
    this.#isPrompting = false;
    this.#terminal.output.write(lines.map((row) => `${row}\n`).join(""));
  }

  #prompt(): void {
    if (this.#isPrompting) return;
    this.#isPrompting = true;
    this.#terminal.output.write(promptMark(this.#chat.approval));
  }
}
