import { randomUUID } from "node:crypto";
import {
  type ApprovalId,
  type InputMode,
  laneKey,
  type SessionId,
  type SessionMode,
} from "@holdfast/protocol";
import {
  type Client,
  type CommandAnswer,
  type ConnectionState,
  executeCommand,
  findPasted,
  type Invocation,
  isWorthMarking,
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
  onEnded(refusal: CommandRefusal): void;
}

/** A person at the keyboard decides themselves when to stop waiting. */
const hostWaitMs = 24 * 3_600_000;

/** What a session gets that begins with the first thing said. */
export interface NewSessionSettings {
  readonly model?: string | undefined;
  readonly mode?: SessionMode | undefined;
}

/** Follows one session at a time through lost connections. A message is accepted once, however often it is sent. */
export class ChatSession {
  readonly #client: Client;
  readonly #listener: ChatListener;
  #following: AbortController | undefined;
  #sessionId: SessionId | null = null;
  readonly #newSession: NewSessionSettings;
  #pastes: string[] = [];

  constructor(client: Client, listener: ChatListener, newSession: NewSessionSettings) {
    this.#client = client;
    this.#listener = listener;
    this.#newSession = newSession;
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

  /** Remembers what was pasted until the next message is sent. */
  addPaste(text: string): void {
    if (isWorthMarking(text)) this.#pastes.push(text);
  }

  /** The first message creates its session. */
  async send(text: string, mode: InputMode = "queue"): Promise<CommandRefusal | undefined> {
    const key = randomUUID();
    const id = this.#sessionId ?? (await this.#createSession(key));
    if (typeof id !== "string") return id;
    const quoted = findPasted(text, this.#pastes);
    this.#pastes = [];
    const lane = laneKey.parse(`cli:${id}`);
    const body = { clientId: key, text, mode, lane, ...(quoted.length > 0 && { quoted }) };
    const sent = await this.#retry(() => this.#client.sendMessage({ params: { id }, body }));
    return sent.ok ? undefined : refusalFrom(sent.error);
  }

  /** The newest event's number: whoever has seen it has seen everything before it. */
  async head(): Promise<number> {
    const id = this.#sessionId;
    if (id === null) return 0;
    const query = { limit: 1 };
    const read = await this.#retry(() => this.#client.readSession({ params: { id }, query }));
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

  async answer(id: ApprovalId, reply: ApprovalReply): Promise<CommandRefusal | undefined> {
    const headers = { "idempotency-key": randomUUID() };
    const result = await this.#retry(() =>
      this.#client.answerApproval({ params: { id }, headers, body: { ...reply } }),
    );
    return result.ok ? undefined : refusalFrom(result.error);
  }

  async #createSession(key: string): Promise<SessionId | CommandRefusal> {
    const headers = { "idempotency-key": key };
    const { model, mode } = this.#newSession;
    const body = { ...(model !== undefined && { model }), ...(mode !== undefined && { mode }) };
    const created = await this.#retry(() => this.#client.createSession({ headers, body }));
    if (!created.ok) return refusalFrom(created.error);
    this.switchTo(created.value.session.id);
    return created.value.session.id;
  }

  async #retry<T>(request: () => Promise<Result<T>>): Promise<Result<T>> {
    const hostWait = createHostWait(hostWaitMs);
    try {
      return await hostWait.retryUntilAnswered(request);
    } finally {
      hostWait.stop();
    }
  }

  async #follow(id: SessionId, signal: AbortSignal): Promise<void> {
    const onConnection = (state: ConnectionState): void => this.#listener.onConnection(state);
    let state: SessionState | undefined;
    const stallWatch = watchForStall({
      client: this.#client,
      isWaiting: () => state !== undefined && isBusy(state),
      onReasons: (reasons) => this.#listener.onStatus(reasons),
    });
    signal.addEventListener("abort", () => stallWatch.stop(), { once: true });
    for await (const item of this.#client.open(id, { signal, onConnection })) {
      if (signal.aborted) return;
      stallWatch.reset();
      if (item.kind === "state") {
        this.#listener.onState(item.state, state === undefined);
        state = item.state;
      } else if (item.kind === "status") this.#listener.onStatus(item.status.text ?? "");
      else this.#listener.onEnded(refusalFrom(item.error));
    }
    stallWatch.stop();
  }
}

/** Whether the host is working, rather than waiting for a person. */
function isBusy(state: SessionState): boolean {
  const run = liveRun(state);
  if (run === null) return state.inbox.length > 0;
  return run.state !== "waiting" && run.state !== "paused";
}
