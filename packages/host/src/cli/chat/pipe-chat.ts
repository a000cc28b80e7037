import { createInterface } from "node:readline";
import { liveRun, type CommandRefusal, type SessionState } from "@holdfast/client";
import type { Terminal } from "../command.ts";
import type { HostConnection } from "../connection/connect.ts";
import { columnsOf } from "../screen/screen.ts";
import { createPaint } from "../screen/paint.ts";
import { type RenderStyle } from "../screen/markdown.ts";
import { TranscriptDiffer } from "../transcript/pieces.ts";
import { createPipeWriter, type TranscriptWriter } from "../transcript/writer.ts";
import { approvalRows } from "./approval.ts";
import { ChatSession, type ChatListener } from "./chat-session.ts";
import { commandRows } from "./command-output.ts";
import { handleLine } from "./handle-line.ts";

/**
 * A conversation over pipes: each line is a message, a command, or a reply to an approval, and waits for the
 * previous one.
 */
export class PipeChat implements ChatListener {
  readonly conversation: ChatSession;
  readonly #terminal: Terminal;
  readonly #writer: TranscriptWriter;
  readonly #style: RenderStyle;
  #differ = new TranscriptDiffer();
  #state: SessionState | undefined;
  #shownApprovals = new Set<string>();
  #wake: () => void = () => undefined;

  constructor(connection: HostConnection, terminal: Terminal, model: string | undefined) {
    this.#terminal = terminal;
    const paint = createPaint(terminal.output, terminal.environment);
    this.#style = { width: columnsOf(terminal.output, 100), paint };
    this.#writer = createPipeWriter(terminal);
    this.conversation = new ChatSession(connection.client, this, model);
  }

  get state(): SessionState | undefined {
    return this.#state;
  }

  print(rows: readonly string[]): void {
    for (const row of rows) this.#terminal.print(row);
  }

  async run(): Promise<void> {
    for await (const line of createInterface({ input: this.#terminal.input })) {
      const { conversation } = this;
      const approval = this.#state?.live?.approvals[0];
      const context = { conversation, approval, style: this.#style, folder: null };
      const { rows, next } = await handleLine(line, context);
      this.print(rows);
      if (next === "leave") break;
      if (next === "sent") await this.#untilIdle(await conversation.head());
    }
    this.conversation.leave();
    this.#writer.close();
  }

  onState(state: SessionState, isFirst: boolean): void {
    const isOpened = isFirst && state.session.id !== this.#state?.session.id;
    if (isOpened) {
      this.#differ = new TranscriptDiffer();
      this.#differ.skipExisting(state, 0);
    }
    this.#state = state;
    this.#writer.show(this.#differ.diff(state));
    for (const approval of state.live?.approvals ?? []) {
      if (this.#shownApprovals.has(approval.approvalId)) continue;
      this.#shownApprovals.add(approval.approvalId);
      this.#writer.note(approvalRows(approval, this.#style).join("\n").trim());
    }
    this.#wake();
  }

  onConnection(state: "live" | "reconnecting" | "offline"): void {
    if (state === "offline") this.#writer.status("The host is away; waiting for it …");
  }

  onStatus(text: string): void {
    this.#writer.status(text);
  }

  onEnded(refusal: CommandRefusal): void {
    this.print(commandRows(refusal, this.#style));
    this.conversation.leave();
    this.#wake();
  }

  /** Resolves when everything sent was answered, or it is a person's turn. */
  async #untilIdle(head: number): Promise<void> {
    while (this.conversation.sessionId !== null && !this.#isIdle(head)) {
      const { promise, resolve } = Promise.withResolvers<void>();
      this.#wake = resolve;
      await promise;
    }
  }

  #isIdle(head: number): boolean {
    const state = this.#state;
    if (state === undefined || state.seq < head || state.inbox.length > 0) return false;
    const run = liveRun(state);
    if (run === null) return state.run !== null;
    return run.state === "paused" || (run.state === "waiting" && hasOpenApproval(state));
  }
}

function hasOpenApproval({ live }: SessionState): boolean {
  return (live?.approvals.length ?? 0) > 0;
}
