import { randomUUID } from "node:crypto";
import { type ApprovalId, type InputMode, laneKey, type SessionId } from "@holdfast/protocol";
import {
  type Client,
  type CommandAnswer,
  type ConnectionState,
  executeCommand,
  type Invocation,
  liveRun,
  type CommandRefusal,
  refusalFrom,
  type Result,
  type SessionState,
} from "@holdfast/client";
import { createHostWait, watchForStall } from "../connection/wait-for-host.ts";
import type { ApprovalReply } from "./approval.ts";

export interface ChatListener {
  /** `isFirst`: the session has just been opened. */
  onState(state: SessionState, isFirst: boolean): void;
  onConnection(state: ConnectionState): void;
  onStatus(text: string): void;
  /** The host will not show this session any more. */
  onEnded(refused: CommandRefusal): void;
}

/** A person who waits at a keyboard waits until they do not want to any more. */
const hostWaitMs = 24 * 3_600_000;

/** One session at a time, followed through lost connections. What was said is sent once, however often it is tried. */
export class ChatSession {
  readonly #client: Client;
  readonly #listener: ChatListener;
  #following: AbortController | undefined;
  #sessionId: SessionId | null = null;
  #model: string | undefined;

  constructor(client: Client, listener: ChatListener, model?: string) {
    this.#client = client;
    this.#listener = listener;
    this.#model = model;
  }

  get sessionId(): SessionId | null {
    return this.#sessionId;
  }

  switchTo(id: SessionId): void {
    this.leave();
    this.#sessionId = id;
    const following = new AbortController();
    this.#following = following;
    void this.#follow(id, following.signal);
  }

  leave(): void {
    this.#following?.abort();
    this.#following = undefined;
    this.#sessionId = null;
  }

  /** The first message begins the session that it belongs to. */
  async send(text: string, mode: InputMode = "queue"): Promise<CommandRefusal | undefined> {
    const key = randomUUID();
    const id = this.#sessionId ?? (await this.#begin(key));
    if (typeof id !== "string") return id;
    const body = { clientId: key, text, mode, lane: laneKey.parse(`cli:${id}`) };
    const sent = await this.#ask(() => this.#client.sendMessage({ params: { id }, body }));
    return sent.ok ? undefined : refusalFrom(sent.error);
  }

  /** The number of the newest event there is: whoever has seen it has seen what came before. */
  async head(): Promise<number> {
    const id = this.#sessionId;
    if (id === null) return 0;
    const query = { limit: 1 };
    const read = await this.#ask(() => this.#client.readSession({ params: { id }, query }));
    return read.ok ? read.value.seq : 0;
  }

  async execute(invocation: Invocation): Promise<CommandAnswer> {
    const answer = await executeCommand(
      { client: this.#client, sessionId: this.#sessionId, key: randomUUID(), now: Date.now },
      invocation,
    );
    if (answer.kind === "moved") this.switchTo(answer.session.id);
    return answer;
  }

  async answer(id: ApprovalId, word: ApprovalReply): Promise<CommandRefusal | undefined> {
    const headers = { "idempotency-key": randomUUID() };
    const told = await this.#ask(() =>
      this.#client.answerApproval({ params: { id }, headers, body: { ...word } }),
    );
    return told.ok ? undefined : refusalFrom(told.error);
  }

  async #begin(key: string): Promise<SessionId | CommandRefusal> {
    const headers = { "idempotency-key": key };
    const body = this.#model === undefined ? {} : { model: this.#model };
    const begun = await this.#ask(() => this.#client.createSession({ headers, body }));
    if (!begun.ok) return refusalFrom(begun.error);
    this.switchTo(begun.value.session.id);
    return begun.value.session.id;
  }

  async #ask<T>(ask: () => Promise<Result<T>>): Promise<Result<T>> {
    const patience = createHostWait(hostWaitMs);
    try {
      return await patience.retryUntilAnswered(ask);
    } finally {
      patience.stop();
    }
  }

  async #follow(id: SessionId, signal: AbortSignal): Promise<void> {
    const onConnection = (state: ConnectionState): void => this.#listener.onConnection(state);
    let state: SessionState | undefined;
    const silence = watchForStall({
      client: this.#client,
      isWaiting: () => state !== undefined && isBusy(state),
      onReasons: (reasons) => this.#listener.onStatus(reasons),
    });
    signal.addEventListener("abort", () => silence.stop(), { once: true });
    for await (const item of this.#client.open(id, { signal, onConnection })) {
      if (signal.aborted) return;
      silence.reset();
      if (item.kind === "state") {
        this.#listener.onState(item.state, state === undefined);
        state = item.state;
      } else if (item.kind === "status") this.#listener.onStatus(item.status.text ?? "");
      else this.#listener.onEnded(refusalFrom(item.error));
    }
    silence.stop();
  }
}

/** Whether the host has something to do that is not a person's turn. */
function isBusy(state: SessionState): boolean {
  const run = liveRun(state);
  if (run === null) return state.inbox.length > 0;
  return run.state !== "waiting" && run.state !== "paused";
}
