import {
  type AgentContext,
  methods,
  type SessionUpdate,
  type StopReason,
} from "@agentclientprotocol/sdk";
import type { Client, Result, SessionState } from "@holdfast/client";
import {
  type EntryView,
  type LaneKey,
  type RunId,
  type SessionId,
  type SessionView,
  type StoredEvent,
  terminalStates,
} from "@holdfast/protocol";
import { createHostWait } from "../connection/wait-for-host.ts";
import { acpStrings } from "../strings/acp.ts";
import { ApprovalRequests } from "./approval-requests.ts";
import { readOptions } from "./config-options.ts";
import { requestErrorFrom } from "./errors.ts";
import { type PendingPrompt, PendingPrompts } from "./pending-prompts.ts";
import type { PromptInput } from "./prompt-input.ts";
import { Transcript } from "./transcript.ts";

/** What the editor has announced in `initialize`. */
export interface EditorAbilities {
  readonly notices: boolean;
  readonly compaction: boolean;
  readonly forms: boolean;
}

export interface EditorSessionDeps {
  readonly client: Client;
  readonly editor: AgentContext;
  readonly abilities: EditorAbilities;
  readonly lane: LaneKey;
  /** Whether this editor may answer approvals. */
  readonly mayApprove: boolean;
  readonly blobUrl: (blobId: string) => string;
  /** Whether a message came from this connection, whose editor shows it already. */
  readonly isOwn: (clientId: string) => boolean;
}

/** A run that was accepted is waited for as long as it takes; only a cancel ends that. */
const hostWaitMs = 7 * 24 * 3_600_000;
const replayPage = 500;

/** One session that is open in the editor: followed from the log, whatever host serves it. */
export class EditorSession {
  readonly id: SessionId;
  /** The editor's folder for it. */
  folder: string;
  readonly #deps: EditorSessionDeps;
  readonly #transcript: Transcript;
  readonly #prompts: PendingPrompts;
  readonly #approvals: ApprovalRequests;
  readonly #closed = new AbortController();
  #state: SessionState | undefined;
  #shownTitle: string | null = null;
  #shownOptions = "";

  /** `previous` is the same session, opened before: its prompts are answered by this one from now on. */
  constructor(
    id: SessionId,
    folder: string,
    deps: EditorSessionDeps,
    previous: EditorSession | undefined,
  ) {
    this.#prompts = previous?.leave() ?? new PendingPrompts();
    this.id = id;
    this.folder = folder;
    this.#deps = deps;
    this.#transcript = new Transcript({
      send: (update) => this.send(update),
      folder: () => this.folder,
      shows: deps.abilities,
      blobUrl: deps.blobUrl,
      now: Date.now,
    });
    this.#approvals = new ApprovalRequests({
      ...deps,
      sessionId: id,
      folder: () => this.folder,
      closed: this.#closed.signal,
      showCall: (call) => this.#transcript.showCall(call),
      retry: (request) => this.#retry(request),
      onFailed: (sentence) => this.notice("error", sentence),
    });
  }

  get view(): SessionView {
    if (this.#state === undefined) throw new Error("The session was not opened.");
    return this.#state.session;
  }

  /** Follows the session from now on. Resolves when what the editor wants of its past has been sent. */
  async open(past: "replay" | "skip"): Promise<void> {
    const opened = Promise.withResolvers<void>();
    void this.#follow(past, opened).catch((error: unknown) => {
      opened.reject(error);
      this.#prompts.fail(error instanceof Error ? error : new Error(String(error)));
    });
    await opened.promise;
  }

  /** No longer shows anything. The runs go on. */
  close(): void {
    this.#closed.abort();
    this.#prompts.cancelAll();
  }

  /** No longer shows anything, and hands over the prompts that are open. */
  leave(): PendingPrompts {
    this.#closed.abort();
    return this.#prompts;
  }

  send(update: SessionUpdate): void {
    const { seq = 0, session } = this.#state ?? {};
    const holdfast = { seq, epoch: session?.epoch ?? 0 };
    void this.#deps.editor
      .notify(methods.client.session.update, {
        sessionId: this.id,
        update: { ...update, _meta: { holdfast } },
      })
      .catch(() => undefined);
  }

  notice(severity: "info" | "warning" | "error", title: string): void {
    this.#transcript.showNotice(severity, title);
  }

  say(text: string): void {
    this.send({ sessionUpdate: "agent_message_chunk", content: { type: "text", text } });
  }

  /** Answers when the run of this very message has ended. */
  async prompt(
    { text, attachments, quoted }: PromptInput,
    clientId: string,
    signal: AbortSignal,
  ): Promise<StopReason> {
    const body = {
      clientId,
      text,
      lane: this.#deps.lane,
      ...(attachments.length > 0 && { attachments: [...attachments] }),
      ...(quoted.length > 0 && { quoted }),
    };
    const sent = await this.#retry(() =>
      this.#deps.client.sendMessage({ params: { id: this.id }, body }),
    );
    if (!sent.ok) throw requestErrorFrom(sent.error);
    return this.waitFor(sent.value.runId, signal, sent.value.messageId);
  }

  /** Answers when a run has ended that this connection has begun. */
  async waitFor(
    runId: RunId,
    signal: AbortSignal,
    messageId: PendingPrompt["messageId"] = null,
  ): Promise<StopReason> {
    const prompt = this.#prompts.add(runId, messageId);
    const cancel = (): void => void this.#cancel(prompt);
    if (signal.aborted) cancel();
    signal.addEventListener("abort", cancel, { once: true });
    try {
      return await prompt.ended.promise;
    } finally {
      signal.removeEventListener("abort", cancel);
    }
  }

  /** Durable: a host that is away gets it when it returns. `own`: only what this connection has begun. */
  async cancel(which: "own" | "all"): Promise<void> {
    const live = this.#state?.run ?? null;
    const own = this.#prompts.all();
    const isOthers = live !== null && !own.some(({ runId }) => runId === live.id);
    await Promise.all([
      ...own.map((prompt) => this.#cancel(prompt)),
      ...(which === "all" && isOthers && !terminalStates.has(live.state)
        ? [this.#cancelRun(live.id)]
        : []),
    ]);
  }

  async #cancel(prompt: PendingPrompt): Promise<void> {
    if (prompt.isCancelled) return;
    prompt.isCancelled = true;
    await this.#cancelRun(prompt.runId);
  }

  async #cancelRun(runId: RunId): Promise<void> {
    await this.#retry(() => this.#deps.client.cancelRun({ params: { id: runId } }));
  }

  async #retry<T>(request: () => Promise<Result<T>>): Promise<Result<T>> {
    const wait = createHostWait(hostWaitMs);
    try {
      return await wait.retryUntilAnswered(request);
    } finally {
      wait.stop();
    }
  }

  async #follow(past: "replay" | "skip", opened: PromiseWithResolvers<void>): Promise<void> {
    const { signal } = this.#closed;
    let isFirst = true;
    for await (const item of this.#deps.client.open(this.id, { signal })) {
      if (signal.aborted) return;
      if (item.kind === "ended") throw requestErrorFrom(item.error);
      if (item.kind !== "state") continue;
      this.#state = item.state;
      if (isFirst) {
        isFirst = false;
        await this.#showPast(item.state, past);
        this.#shownTitle = item.state.session.title;
        opened.resolve();
        this.#syncApprovals(item.state);
        await this.#syncPrompts(item.state);
      } else if (item.by === null) await this.#showAgain(item.state);
      else this.#showEvent(item.state, item.by);
    }
  }

  async #showPast(state: SessionState, past: "replay" | "skip"): Promise<void> {
    const { entries, live } = state;
    if (past === "skip") {
      for (const entry of entries) this.#transcript.skipEntry(entry);
      if (live !== null) this.#transcript.skipLive(live.messages, live.tools);
      return;
    }
    for (const page of await this.#earlierPages(state))
      for (const entry of page) this.#transcript.showEntry(entry);
    for (const entry of entries) this.#transcript.showEntry(entry);
    this.#showLive(state);
  }

  /** Oldest first. */
  async #earlierPages({ earlier }: SessionState): Promise<readonly (readonly EntryView[])[]> {
    const pages: (readonly EntryView[])[] = [];
    for (let before = earlier; before !== null;) {
      const query = { before, limit: replayPage };
      const read = await this.#deps.client.readSession({ params: { id: this.id }, query });
      if (!read.ok) throw requestErrorFrom(read.error);
      pages.unshift(read.value.entries);
      before = read.value.earlier;
    }
    return pages;
  }

  /** After a read that replaces events which cannot be had any more. */
  async #showAgain(state: SessionState): Promise<void> {
    for (const entry of state.entries) this.#showEntry(entry);
    this.#showLive(state);
    this.#syncApprovals(state);
    await this.#syncFacts(state);
    await this.#syncPrompts(state);
  }

  /** Answers the prompts whose runs ended while nobody followed. */
  async #syncPrompts(state: SessionState): Promise<void> {
    if (state.run !== null) this.#prompts.end(state.run.id, state.run);
    for (const { runId } of this.#prompts.all()) {
      if (state.run?.id === runId || state.inbox.some((item) => item.runId === runId)) continue;
      const read = await this.#deps.client.readRun({ params: { id: runId } });
      if (read.ok) this.#prompts.end(runId, read.value.run);
    }
  }

  #showLive({ live }: SessionState): void {
    for (const message of live?.messages ?? []) this.#transcript.showLiveMessage(message);
    for (const tool of live?.tools ?? []) this.#transcript.showLiveTool(tool);
  }

  #showEntry(entry: EntryView): void {
    const isOwn =
      entry.type === "message" &&
      entry.role === "user" &&
      entry.clientId !== undefined &&
      this.#deps.isOwn(entry.clientId);
    if (isOwn) this.#transcript.skipEntry(entry);
    else this.#transcript.showEntry(entry);
  }

  #showEvent(state: SessionState, event: StoredEvent): void {
    const { type, data, runId } = event;
    switch (type) {
      case "message.delta": {
        const message = state.live?.messages.find((each) => each.messageId === data["messageId"]);
        if (message !== undefined) this.#transcript.showLiveMessage(message);
        return;
      }
      case "tool.started":
      case "tool.output":
      case "tool.ended": {
        const tool = state.live?.tools.find((each) => each.callId === data["callId"]);
        if (tool !== undefined) this.#transcript.showLiveTool(tool);
        return;
      }
      case "approval.asked":
      case "approval.answered":
        this.#syncApprovals(state);
        return;
      case "input.removed":
        this.#prompts.removed(data["messageId"]);
        return;
      case "run.state":
        this.#syncApprovals(state);
        if (runId !== undefined && state.run?.id === runId) this.#prompts.end(runId, state.run);
        else if (runId !== undefined) this.#endQueued(runId, event);
        if (state.run !== null && terminalStates.has(state.run.state)) void this.sendUsage();
        return;
      case "history.cut":
      case "history.restored":
        this.notice("info", acpStrings.changedElsewhere);
        return;
      case "session.changed":
        void this.#syncFacts(state);
        return;
    }
    const entry = state.entries.findLast((each) => each.seq === event.seq);
    if (entry !== undefined) this.#showEntry(entry);
    else if (type === "notice.changed") this.#showChangedNotice(state, data["noticeId"]);
  }

  #showChangedNotice({ entries }: SessionState, noticeId: unknown): void {
    const notice = entries.find((each) => each.type === "notice" && each.noticeId === noticeId);
    if (notice !== undefined) this.#showEntry(notice);
  }

  /** A run that ended before it began is not the one that is shown. */
  #endQueued(runId: RunId, { data }: StoredEvent): void {
    const state = ([...terminalStates] as const).find((each) => each === data["state"]);
    const cause = typeof data["cause"] === "string" ? data["cause"] : null;
    if (state !== undefined) this.#prompts.end(runId, { state, cause });
  }

  /** The title and the options, wherever they were changed. */
  async #syncFacts({ session }: SessionState): Promise<void> {
    const { title, activityAt } = session;
    if (title !== this.#shownTitle) {
      this.#shownTitle = title;
      const updatedAt = new Date(activityAt).toISOString();
      this.send({ sessionUpdate: "session_info_update", title, updatedAt });
    }
    const options = await readOptions(this.#deps.client, session).catch(() => undefined);
    if (options === undefined || JSON.stringify(options) === this.#shownOptions) return;
    this.optionsShown(options);
    this.send({ sessionUpdate: "config_option_update", configOptions: options.configOptions });
    const { currentModeId } = options.modes;
    this.send({ sessionUpdate: "current_mode_update", currentModeId });
  }

  /** The editor has these: only other ones are news. */
  optionsShown(options: object): void {
    this.#shownOptions = JSON.stringify(options);
  }

  /** How full the context is, and what the session has cost. */
  async sendUsage(): Promise<void> {
    const read = await this.#deps.client.readContext({
      params: { id: this.id },
      query: { turns: 1 },
    });
    if (!read.ok || read.value.windowTokens === null) return;
    const { tokens, windowTokens, totals } = read.value;
    const cost = { amount: totals.costMicros / 1_000_000, currency: "USD" };
    this.send({
      sessionUpdate: "usage_update",
      used: tokens.total,
      size: windowTokens,
      ...(totals.costMicros > 0 && { cost }),
    });
  }

  #syncApprovals({ live }: SessionState): void {
    this.#approvals.sync(live?.approvals ?? []);
  }
}
