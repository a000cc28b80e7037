import {
  type Clock,
  type Heartbeat,
  type Holder,
  type LeaseRow,
  type Liveness,
  type Log,
  type OutboxRow,
  readableBlob,
  startHeartbeat,
} from "@holdfast/engine";
import type { SessionId, IdSource, OwnerId, Seq } from "@holdfast/protocol";
import { nextAction, type PendingChunk, OutboxWriter } from "./chunk.ts";
import { enqueueFinalEdit } from "./enqueue.ts";
import { PendingChunks, followEvents } from "./pending-chunks.ts";
import { type SendDeps, type SendStepResult, sendStep } from "./send-chunk.ts";
import type { PlatformAdapter } from "../adapter.ts";
import type { OutageMonitor, Pacer } from "./pacing.ts";
import type { ChatAddressing } from "../lanes.ts";
import type { RightsResolver } from "../../rights/resolve-rights.ts";

export interface SessionDeliveryDeps extends OutboxLeaseDeps {
  readonly ids: IdSource;
  readonly adapter: PlatformAdapter;
  readonly addressing: ChatAddressing;
  readonly rights: Pick<RightsResolver, "ofLane">;
  readonly pacer: Pacer;
  readonly outage: OutageMonitor;
  /** Wakes the dispatcher when a delivery is due. */
  readonly wake: () => void;
}

export interface OutboxLeaseDeps {
  readonly log: Log;
  readonly clock: Clock;
  readonly holder: () => Holder;
  readonly liveness: Liveness;
  readonly leaseMs: number;
}

export interface SessionRef {
  readonly owner: OwnerId;
  readonly session: SessionId;
}

interface DeliveryTarget extends SessionRef {
  /** Sessions that started together with this one and have not been read to the end. */
  readonly unread: Set<SessionId>;
}

/** The log position at which nothing was left to do; `null` if we stopped before that. */
type DeliveredUpTo = Seq | null;

/** Delivers a session's chunks to the chats of one bot, under the session's outbox lease. */
export async function deliverSession(
  deps: SessionDeliveryDeps,
  target: DeliveryTarget,
  stopSignal: AbortSignal,
  onOpen: (delivery: SessionDelivery) => void,
): Promise<DeliveredUpTo> {
  const held = await acquireOutboxLease(deps, target.session);
  if (held === null) return null;
  const { lease, heartbeat } = held;
  const overwritten: OutboxRow[] = [];
  const ended = new AbortController();
  const signal = AbortSignal.any([stopSignal, heartbeat.lost, ended.signal]);
  const { log, ids, adapter, addressing } = deps;
  try {
    const writer = new OutboxWriter(log, ids, target.owner, lease.fence);
    const pending = new PendingChunks({
      log,
      ...target,
      writer,
      addressOf: ({ lane }) => addressing.addressOf(lane),
      repeats: adapter.capabilities.repeats,
      rights: deps.rights,
    });
    const first = await pending.load();
    if (first === null)
      return (await log.store.reads.session(target.owner, target.session))?.head ?? null;
    const { isHeld } = heartbeat;
    const opened = { pending, writer, signal, isHeld, overwritten };
    const delivery = new SessionDelivery(deps, target, opened);
    onOpen(delivery);
    const following = followLog(log, target, { pending, delivery, first, signal });
    // Without new events there is nothing more to do here.
    void following.catch(() => undefined).finally(() => ended.abort());
    const deliveredUpTo = await delivery.untilEnded();
    ended.abort();
    await following;
    return deliveredUpTo;
  } finally {
    ended.abort();
    await heartbeat.stop();
    await log.store.leases.release(lease);
    for (const row of overwritten) await enqueueFinalEdit({ ...deps, ...target }, row);
  }
}

async function followLog(
  log: Log,
  target: SessionRef,
  {
    pending,
    delivery,
    first,
    signal,
  }: { pending: PendingChunks; delivery: SessionDelivery; first: Seq; signal: AbortSignal },
): Promise<void> {
  for await (const { events, head } of followEvents(log, target, first, signal)) {
    for (const event of events) await pending.apply(event);
    pending.advanceTo(head);
    delivery.wake();
  }
}

interface OpenedSession {
  readonly pending: PendingChunks;
  readonly writer: OutboxWriter;
  readonly signal: AbortSignal;
  readonly isHeld: () => boolean;
  /** Gets the chunks whose message may show an edit that came too late. */
  readonly overwritten: OutboxRow[];
}

/** How long to wait on an idle run before giving up the lease: the next step is a person's, or another run's. */
const idleReleaseMs = 3_000;
const typingIntervalMs = 4_500;

/** A session's pending chunks: one step at a time within a chat, chats in parallel. */
export class SessionDelivery {
  readonly #deps: SessionDeliveryDeps;
  readonly #target: DeliveryTarget;
  readonly #pending: PendingChunks;
  readonly #signal: AbortSignal;
  readonly #overwritten: OutboxRow[];
  readonly #sending: SendDeps;
  readonly #typedAt = new Map<string, number>();
  /** Steps in flight, by chat. */
  readonly #steps = new Map<
    string,
    { readonly chunk: PendingChunk; readonly done: Promise<void> }
  >();
  readonly #ended = Promise.withResolvers<DeliveredUpTo>();
  /** Chunks that need a step, in delivery order. */
  #actionable: readonly PendingChunk[] = [];
  #ready: ReadonlySet<PendingChunk> = new Set();
  #isOver = false;
  #isHeldBack = false;
  #dueAt = 0;
  #idleSince: number | null = null;
  /** The store's time when the chunks were last checked. */
  #storeNow = 0;

  constructor(deps: SessionDeliveryDeps, target: DeliveryTarget, opened: OpenedSession) {
    const { adapter, pacer, outage, log } = deps;
    const { pending, writer, signal, isHeld, overwritten } = opened;
    this.#deps = deps;
    this.#target = target;
    this.#pending = pending;
    this.#signal = signal;
    this.#overwritten = overwritten;
    this.#sending = {
      adapter,
      pacer,
      outage,
      writer,
      now: () => log.store.now(),
      readFile: async (id) =>
        (await readableBlob(log.store.reads, target.owner, id))?.bytes ?? null,
      signal,
      isHeld,
    };
    signal.addEventListener("abort", () => this.#end(null), { once: true });
    if (signal.aborted) this.#end(null);
  }

  /** Settles once nothing is left to do and no step is in flight. */
  async untilEnded(): Promise<DeliveredUpTo> {
    try {
      return await this.#ended.promise;
    } finally {
      await Promise.all([...this.#steps.values()].map(({ done }) => done));
    }
  }

  /** When to check it again, by the process clock. */
  get dueAt(): number {
    return this.#dueAt;
  }

  /** A message waits for one of another session, and becomes due only when that one ends. */
  get isHeldBack(): boolean {
    return this.#isHeldBack;
  }

  wake(): void {
    this.#dueAt = 0;
    this.#deps.wake();
  }

  /** Chunks that are being sent as new messages, or could be now. */
  get ready(): Iterable<PendingChunk> {
    return this.#ready;
  }

  /** `false` if every chat with pending chunks has a step in flight, so nothing can start. */
  get hasWork(): boolean {
    if (this.#isOver || !this.#pending.isCaughtUp) return false;
    const { chunks } = this.#pending;
    return chunks.length === 0 || chunks.some(({ address }) => !this.#steps.has(address.chat));
  }

  fail(error: unknown): void {
    this.#isOver = true;
    this.#ended.reject(error);
  }

  #end(deliveredUpTo: DeliveredUpTo): void {
    this.#isOver = true;
    this.#ended.resolve(deliveredUpTo);
  }

  /** Determines what the chunks need at this time of the store's clock. */
  decide(storeNow: number): void {
    this.#storeNow = storeNow;
    this.#target.unread.delete(this.#target.session);
    const actionable: PendingChunk[] = [];
    const ready = new Set<PendingChunk>();
    for (const chunk of this.#pending.chunks) {
      if (this.#steps.get(chunk.address.chat)?.chunk === chunk) {
        if (this.#ready.has(chunk)) ready.add(chunk);
        continue;
      }
      const { kind } = nextAction(chunk, this.#deps.adapter, storeNow);
      if (kind !== "nothing") actionable.push(chunk);
      if (kind === "send" || kind === "file") ready.add(chunk);
    }
    this.#actionable = actionable;
    this.#ready = ready;
  }

  /** Starts each chat's first actionable chunk; one that has to wait holds back those after it. */
  startSteps(firstByChat: ReadonlyMap<string, PendingChunk>): void {
    this.#isHeldBack = this.#target.unread.size > 0;
    if (this.#isHeldBack) return;
    const busyChats = new Set(this.#steps.keys());
    for (const chunk of this.#actionable) {
      const { chat } = chunk.address;
      if (busyChats.has(chat)) continue;
      busyChats.add(chat);
      const isItsTurn = !this.#ready.has(chunk) || firstByChat.get(chat) === chunk;
      if (!isItsTurn) this.#isHeldBack = true;
      else if (!this.#mustWait(chunk)) this.#start(chunk);
    }
    if (this.#pending.chunks.length === 0 && this.#steps.size === 0)
      this.#end(this.#pending.readUpTo);
  }

  /** Whether the chunk waits for a retry, which a previous host may have scheduled. */
  #mustWait(chunk: PendingChunk): boolean {
    const now = this.#deps.clock.now();
    if (chunk.notBefore > now) return true;
    const { retryAt } = chunk.row;
    if (retryAt === null || retryAt <= this.#storeNow) return false;
    chunk.notBefore = now + retryAt - this.#storeNow;
    return true;
  }

  #start(chunk: PendingChunk): void {
    const { chat } = chunk.address;
    const done = sendStep(this.#sending, chunk).then(
      (result) => this.#settle(chunk, result),
      (failure: unknown) => this.fail(failure),
    );
    this.#steps.set(chat, { chunk, done });
  }

  #settle(chunk: PendingChunk, result: SendStepResult): void {
    this.#idleSince = null;
    this.#steps.delete(chunk.address.chat);
    // Due at once, so that its next chunk keeps the turn.
    this.wake();
    switch (result.status) {
      case "late":
        this.#overwritten.push(chunk.row);
        return this.#end(null);
      case "lost":
        return this.#end(null);
      case "wait":
        // The chunk stays ready, so nothing overtakes it.
        chunk.notBefore = this.#deps.clock.now() + result.ms;
        return;
      case "done":
        this.#pending.replace(chunk, result.next);
        return this.#leave(chunk);
      case "open":
        return this.#leave(chunk);
    }
  }

  #leave(chunk: PendingChunk): void {
    this.#ready = new Set([...this.#ready].filter((other) => other !== chunk));
  }

  /** Called when nothing can start: sets when it is due again, or ends a delivery that was idle for long. */
  rest(): void {
    const idleMs = this.#isOver ? typingIntervalMs : this.#idleMs();
    this.#dueAt = this.#deps.clock.now() + Math.max(1, idleMs);
    if (this.#isOver) return;
    if (idleMs <= 0) this.#end(this.#pending.readUpTo);
    else this.#showTyping();
  }

  #idleMs(): number {
    const now = this.#deps.clock.now();
    const due = this.#pending.chunks.map(({ notBefore }) => notBefore).filter((time) => time > now);
    if (due.length > 0) return Math.max(1, Math.min(...due) - now);
    const isBusy = this.#steps.size > 0 || this.#ready.size > 0;
    if (isBusy || this.#pending.hasActiveRun || !this.#pending.isCaughtUp) return typingIntervalMs;
    this.#idleSince ??= now;
    return this.#idleSince + idleReleaseMs - now;
  }

  #showTyping(): void {
    const { adapter, clock } = this.#deps;
    if (!adapter.capabilities.typing) return;
    const now = clock.now();
    for (const { address, text } of this.#pending.chunks) {
      if (text === null || !text.isRunning || text.isStreaming || text.isWithheld) continue;
      if (now - (this.#typedAt.get(address.chat) ?? -Infinity) < typingIntervalMs) continue;
      this.#typedAt.set(address.chat, now);
      void adapter.showTyping(address, this.#signal);
    }
  }
}

export interface OutboxLease {
  readonly lease: LeaseRow;
  readonly heartbeat: Heartbeat;
}

/** P11: two hosts never send for one session at once. `null`: another host does, or the session is gone. */
async function acquireOutboxLease(
  deps: OutboxLeaseDeps,
  session: SessionId,
): Promise<OutboxLease | null> {
  const { log, clock, leaseMs: ttlMs, liveness } = deps;
  const { leases } = log.store;
  const askedAt = clock.now();
  const request = { kind: "outbox", session, holder: deps.holder(), ttlMs } as const;
  let result = await leases.acquire(request);
  if (result.status === "held" && liveness.isDead(result.by.holder) === "dead")
    result = await leases.acquire({ ...request, replacing: result.by.fence });
  if (result.status !== "acquired") return null;
  const { lease } = result;
  const heartbeat = startHeartbeat({
    leases,
    ref: { kind: "outbox", session, fence: lease.fence },
    clock,
    ttlMs,
    everyMs: ttlMs / 3,
    safeUntil: askedAt + ttlMs,
  });
  return { lease, heartbeat };
}
