import {
  type Client,
  type CommandRefusal,
  type ConnectionState,
  liveRun,
  parseInput,
  type SessionState,
  shortId,
} from "@holdfast/client";
import { type InputMode } from "@holdfast/protocol";
import type { HostConnection } from "../connection/connect.ts";
import { type RenderStyle } from "../screen/paint.ts";
import { chatStrings } from "../strings/chat.ts";
import { sessionTitle } from "../transcript/describe.ts";
import { TranscriptDiffer, type TranscriptPiece } from "../transcript/pieces.ts";
import { wrapBlock } from "../transcript/rows.ts";
import type { OpenApproval } from "../transcript/open-approval.ts";
import { type ApprovalReply, replyText } from "./approval.ts";
import type { NewSessionSettings } from "../new-session.ts";
import { ChatSession, type ChatListener } from "./chat-session.ts";
import { commandRows } from "./command-output.ts";
import { handleLine, type LineResult } from "./handle-line.ts";
import type { Offer } from "./picker.ts";

const doublePressMs = 2_000;

/** Shows a chat and takes its input: a screen, a terminal that cannot move its cursor, or pipes. */
export interface ChatView {
  /** How many of the last entries are shown when a session is reopened. */
  readonly reopenedEntries: number;
  /** Where documents are saved; `null` prints them. */
  readonly folder: string | null;
  style(): RenderStyle;
  /** Reads input until the person leaves or the input ends. */
  run(): Promise<void>;
  print(rows: readonly string[]): void;
  /** Switches to another session, under this heading. */
  startSession(heading: readonly string[]): void;
  show(pieces: readonly TranscriptPiece[], asked: readonly OpenApproval[]): void;
  /** The hint or the connection has changed. */
  update(): void;
  /** Lets the person choose from what these rows list. */
  offer(offer: Offer, rows: readonly string[]): void;
  clearInput?(): void;
  /** A session was opened, or an answer has ended. */
  onIdle?(): void;
}

/** The chat, independent of its view: follows the session, and handles typed lines and keys. */
export class Chat implements ChatListener {
  readonly conversation: ChatSession;
  readonly client: Client;
  readonly home: string;
  readonly #view: ChatView;
  readonly #leaving = Promise.withResolvers<void>();
  readonly #shownApprovals = new Set<string>();
  #differ = new TranscriptDiffer();
  #state: SessionState | undefined;
  #connection: ConnectionState = "live";
  #hint = "";
  #sending: readonly string[] = [];
  #shell: AbortController | null = null;
  #interruptedAt = -Infinity;
  #queue: Promise<unknown> = Promise.resolve();

  constructor(
    { client, config }: HostConnection,
    newSession: NewSessionSettings,
    createView: (chat: Chat) => ChatView,
  ) {
    this.client = client;
    this.home = config.home.value;
    this.conversation = new ChatSession(client, this, newSession);
    this.#view = createView(this);
  }

  get state(): SessionState | undefined {
    return this.#state;
  }

  get connection(): ConnectionState {
    return this.#connection;
  }

  get hint(): string {
    return this.#hint;
  }

  set hint(text: string) {
    this.#hint = text;
    this.#view.update();
  }

  get approval(): OpenApproval | undefined {
    return this.#state?.live?.approvals[0];
  }

  get isAnswering(): boolean {
    return this.#state !== undefined && liveRun(this.#state) !== null;
  }

  /** Messages that the host has not accepted yet. */
  get sending(): readonly string[] {
    return this.#sending;
  }

  run(): Promise<void> {
    return this.#view.run();
  }

  print(rows: readonly string[]): void {
    this.#view.print(rows);
  }

  /** Resolves when the person leaves, by `leave` or by a signal. */
  async untilLeft(): Promise<void> {
    const onSignal = (): void => this.interrupt();
    const quit = (): void => this.leave();
    process.on("SIGINT", onSignal).on("SIGTERM", quit).on("SIGHUP", quit);
    try {
      await this.#leaving.promise;
    } finally {
      process.off("SIGINT", onSignal).off("SIGTERM", quit).off("SIGHUP", quit);
      this.conversation.close();
    }
  }

  leave(): void {
    this.#leaving.resolve();
  }

  onState(state: SessionState, isFirst: boolean): void {
    const isOpened = isFirst && state.session.id !== this.#state?.session.id;
    this.#state = state;
    if (isOpened) this.#open(state);
    const pieces = this.#differ.diff(state);
    const hasEnded = pieces.some(({ kind }) => kind === "runEnded");
    if (hasEnded) this.#hint = "";
    this.#view.show(pieces, this.#newApprovals(state));
    if (isOpened || hasEnded) this.#view.onIdle?.();
  }

  onConnection(state: ConnectionState): void {
    this.#connection = state;
    this.#view.update();
  }

  onStatus(text: string): void {
    this.hint = text;
  }

  onNote(sentence: string): void {
    this.#view.print(wrapBlock(sentence, this.#view.style(), "— ", ["dim"]));
  }

  onEnded(refusal: CommandRefusal): void {
    this.#view.print(commandRows(refusal, this.#view.style()));
    this.conversation.leave();
    this.#view.update();
  }

  /** Once stops the answer or clears the input; twice leaves. */
  interrupt(): void {
    const now = performance.now();
    if (now - this.#interruptedAt < doublePressMs) return this.leave();
    this.#interruptedAt = now;
    this.#view.clearInput?.();
    this.stop();
    this.hint = this.isAnswering ? chatStrings.keys.stopping : chatStrings.keys.leaveHint;
  }

  /** Stops the person's own command or the answer, if there is one. */
  stop(): void {
    if (this.#shell !== null) return this.#shell.abort();
    const run = this.#state === undefined ? null : liveRun(this.#state);
    if (run !== null && !run.cancelRequested) void this.submit("/stop", "quiet");
  }

  /** Resolves to what happens next, once the line was handled. */
  submit(text: string, origin: "typed" | "quiet" = "typed"): Promise<LineResult["next"]> {
    // The reply is for the approval shown when Enter was pressed, not for one that may replace it by then.
    const { conversation, approval } = this;
    const command = approval === undefined ? this.#shellCommand(text) : undefined;
    const isMessage =
      parseInput(text).kind === "message" && approval === undefined && command === undefined;
    const handled = this.#enqueue(async () => {
      const view = this.#view;
      const context = { conversation, approval, style: view.style(), folder: view.folder };
      const { rows, next, offer } =
        command === undefined
          ? await handleLine(text, context)
          : await this.#runShell(command, view.folder ?? "");
      const shown = origin === "quiet" ? [] : rows;
      if (offer !== undefined) view.offer(offer, shown);
      else view.print(shown);
      if (next === "leave") this.leave();
      return next;
    });
    return isMessage ? this.#whileSending(text, handled) : handled;
  }

  /** Sends the text at once in another mode than queueing. */
  send(text: string, mode: InputMode): void {
    const sent = this.#enqueue(async () => {
      const { folder } = this.#view;
      const refusal = await this.conversation.send(text, { mode, folder });
      this.#view.print(refusal === undefined ? [] : commandRows(refusal, this.#view.style()));
    });
    void this.#whileSending(text, sent);
  }

  /** Replies to the very approval that was shown. */
  answer({ approvalId }: OpenApproval, reply: ApprovalReply): void {
    void this.#enqueue(async () => {
      const refusal = await this.conversation.answer(approvalId, reply);
      const style = this.#view.style();
      const confirmation = style.paint("dim", `— ${replyText(reply)}`);
      this.#view.print(refusal === undefined ? [confirmation] : commandRows(refusal, style));
    });
  }

  /** `!command` is the person's own, on terminals only: what comes from a pipe may be anybody's. */
  #shellCommand(text: string): string | undefined {
    if (this.#view.folder === null || !text.startsWith("!")) return undefined;
    const command = text.slice(1).trim();
    return command === "" ? undefined : command;
  }

  async #runShell(command: string, folder: string): Promise<LineResult> {
    const { runShellCommand } = await import("./shell-command.ts");
    const view = this.#view;
    const texts = chatStrings.shell;
    const printLine = (line: string): void => {
      view.print(wrapBlock(line, view.style(), "  ", ["dim"]));
    };
    view.print(wrapBlock(command, view.style(), "! ", ["bold"]));
    this.#shell = new AbortController();
    this.hint = texts.running;
    let rest = "";
    const { summary, succeeded, quote } = await runShellCommand(command, {
      folder,
      signal: this.#shell.signal,
      onOutput(text) {
        const lines = (rest + text).split("\n");
        rest = lines.pop() ?? "";
        lines.forEach(printLine);
      },
    });
    if (rest !== "") printLine(rest);
    this.#shell = null;
    this.hint = "";
    this.conversation.addQuote(quote);
    const style = view.style();
    const end = style.paint(succeeded ? "good" : "bad", `  ${summary}`);
    return { rows: [end, style.paint("dim", `— ${texts.willBeSent}`)], next: "stay" };
  }

  /** Shows a message as being sent: a host that is away may take long to accept it. */
  async #whileSending<T>(text: string, sent: Promise<T>): Promise<T> {
    this.#setSending([...this.#sending, text]);
    try {
      return await sent;
    } finally {
      this.#setSending(this.#sending.toSpliced(this.#sending.indexOf(text), 1));
    }
  }

  #setSending(texts: readonly string[]): void {
    this.#sending = texts;
    this.#view.update();
  }

  /** Runs tasks one after the other: what is typed first is sent first. */
  #enqueue<T>(task: () => Promise<T>): Promise<T> {
    const done = this.#queue.then(task);
    this.#queue = done;
    return done;
  }

  #open(state: SessionState): void {
    const { reopenedEntries } = this.#view;
    this.#differ = new TranscriptDiffer();
    this.#differ.skipExisting(state, reopenedEntries);
    const title = `${sessionTitle(state.session)} (${shortId(state.session.id)})`;
    const hasMore = state.entries.length > reopenedEntries || state.earlier !== null;
    const heading = [this.#view.style().paint("dim", `— ${title}`), ...(hasMore ? ["…"] : [])];
    this.#view.startSession(state.entries.length === 0 ? [] : heading);
  }

  /** Each approval is shown once. */
  #newApprovals(state: SessionState): readonly OpenApproval[] {
    const open = state.live?.approvals ?? [];
    const fresh = open.filter(({ approvalId }) => !this.#shownApprovals.has(approvalId));
    for (const { approvalId } of fresh) this.#shownApprovals.add(approvalId);
    return fresh;
  }
}
