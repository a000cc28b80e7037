import { createInterface } from "node:readline";
import { liveRun, type CommandRefusal, type SessionState } from "@holdfast/client";
import type { Terminal } from "../command.ts";
import type { HostConnection } from "../connection/connect.ts";
import { columnsOf, createPaint } from "../screen/screen.ts";
import { type RenderStyle } from "../screen/markdown.ts";
import { TranscriptDiffer } from "../transcript/pieces.ts";
import { createTranscriptWriter, type TranscriptWriter } from "../transcript/writer.ts";
import { approvalRows } from "./approval.ts";
import { ChatSession, type ChatListener } from "./chat-session.ts";
import { commandRows } from "./command-output.ts";
import { handleLine } from "./handle-line.ts";

/** A conversation over pipes: a line is a message, a command, or a word about what asks; each waits for the last. */
export class PipeChat implements ChatListener {
  readonly conversation: ChatSession;
  readonly #terminal: Terminal;
  readonly #voice: TranscriptWriter;
  readonly #look: RenderStyle;
  #presenter = new TranscriptDiffer();
  #state: SessionState | undefined;
  #asked = new Set<string>();
  #wake: () => void = () => undefined;

  constructor(reached: HostConnection, terminal: Terminal, model: string | undefined) {
    this.#terminal = terminal;
    const paint = createPaint(terminal.output, terminal.environment);
    this.#look = { width: columnsOf(terminal.output, 100), paint };
    this.#voice = createTranscriptWriter({ terminal, paint, screen: null });
    this.conversation = new ChatSession(reached.client, this, model);
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
      const context = { conversation, approval, style: this.#look, folder: null };
      const { rows, next } = await handleLine(line, context);
      this.print(rows);
      if (next === "leave") break;
      if (next === "sent") await this.#untilRest(await conversation.head());
    }
    this.conversation.leave();
    this.#voice.close();
  }

  onState(state: SessionState, isFirst: boolean): void {
    const opened = isFirst && state.session.id !== this.#state?.session.id;
    if (opened) {
      this.#presenter = new TranscriptDiffer();
      this.#presenter.skipExisting(state, 0);
    }
    this.#state = state;
    this.#voice.show(this.#presenter.diff(state));
    for (const approval of state.live?.approvals ?? []) {
      if (this.#asked.has(approval.approvalId)) continue;
      this.#asked.add(approval.approvalId);
      this.#voice.note(approvalRows(approval, this.#look).join("\n").trim());
    }
    this.#wake();
  }

  onConnection(state: "live" | "reconnecting" | "offline"): void {
    if (state === "offline") this.#voice.status("The host is away; waiting for it …");
  }

  onStatus(text: string): void {
    this.#voice.status(text);
  }

  onEnded(refused: CommandRefusal): void {
    this.print(commandRows(refused, this.#look));
    this.conversation.leave();
    this.#wake();
  }

  /** What was sent has been answered, or it is a person's turn. */
  async #untilRest(head: number): Promise<void> {
    while (this.conversation.sessionId !== null && !this.#isAtRest(head)) {
      const { promise, resolve } = Promise.withResolvers<void>();
      this.#wake = resolve;
      await promise;
    }
  }

  #isAtRest(head: number): boolean {
    const state = this.#state;
    if (state === undefined || state.seq < head || state.inbox.length > 0) return false;
    const run = liveRun(state);
    if (run === null) return state.run !== null;
    return run.state === "paused" || (run.state === "waiting" && hasOpen(state));
  }
}

function hasOpen({ live }: SessionState): boolean {
  return (live?.approvals.length ?? 0) > 0;
}
