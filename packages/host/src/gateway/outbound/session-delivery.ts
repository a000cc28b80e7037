import {
  type Clock,
  type Heartbeat,
  type Holder,
  type LeaseRow,
  type Liveness,
  type Log,
  startHeartbeat,
  outboxKey,
} from "@holdfast/engine";
import type { SessionId, IdSource, OwnerId, Seq } from "@holdfast/protocol";
import { nextAction, type PendingChunk, OutboxWriter } from "./chunk.ts";
import { PendingChunks, followEvents } from "./pending-chunks.ts";
import { type SendDeps, type SendStepResult, sendStep } from "./send-chunk.ts";
import type { PlatformAdapter } from "../adapter.ts";
import type { ChatQueue, OutageMonitor, Pacer } from "./pacing.ts";
import type { ChatAddressing } from "../lanes.ts";

export interface SessionDeliveryDeps extends OutboxLeaseDeps {
  readonly ids: IdSource;
  readonly adapter: PlatformAdapter;
  readonly addressing: ChatAddressing;
  readonly pacer: Pacer;
  readonly queue: ChatQueue;
  readonly outage: OutageMonitor;
}

export interface OutboxLeaseDeps {
  readonly log: Log;
  readonly clock: Clock;
  readonly holder: () => Holder;
  readonly liveness: Liveness;
  readonly leaseMs: number;
}

export interface DeliverySession {
  readonly owner: OwnerId;
  readonly session: SessionId;
}

/** The log position at which nothing was left to do; `null` if we stopped before that. */
export type DeliveredUpTo = Seq | null;

/** Deliveries that start together all queue their messages before the first one is sent. */
export interface StartBarrier {
  /** Called once this delivery's chunks are queued, or it turns out to have none. */
  readonly arrive: () => void;
  readonly allArrived: Promise<void>;
}

/** Delivers a session's chunks to the chats of one bot, under the session's outbox lease. */
export async function deliverSession(
  deps: SessionDeliveryDeps,
  target: DeliverySession,
  stopSignal: AbortSignal,
  startBarrier: StartBarrier,
): Promise<DeliveredUpTo> {
  const held = await acquireOutboxLease(deps, target.session);
  if (held === null) return null;
  const { lease, heartbeat } = held;
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
    });
    const first = await pending.load();
    if (first === null)
      return (await log.store.reads.session(target.owner, target.session))?.head ?? null;
    const wake = new WakeSignal(deps.clock);
    const loop = new DeliveryLoop(deps, target, {
      pending,
      writer,
      wake,
      startBarrier,
      signal,
    });
    const following = followLog(deps, target, { pending, wake, first, signal });
    // Without new events there is nothing more to do here.
    void following.catch(() => undefined).finally(() => ended.abort());
    const deliveredUpTo = await loop.work();
    ended.abort();
    await following;
    return deliveredUpTo;
  } finally {
    ended.abort();
    await heartbeat.stop();
    await log.store.leases.release(lease);
  }
}

async function followLog(
  { log }: SessionDeliveryDeps,
  target: DeliverySession,
  {
    pending,
    wake,
    first,
    signal,
  }: { pending: PendingChunks; wake: WakeSignal; first: Seq; signal: AbortSignal },
): Promise<void> {
  for await (const { events, head } of followEvents(log, target, first, signal)) {
    for (const event of events) await pending.apply(event);
    pending.advanceTo(head);
    wake.wake();
  }
}

export interface DeliveryLoopDeps {
  readonly pending: PendingChunks;
  readonly writer: OutboxWriter;
  readonly wake: WakeSignal;
  readonly startBarrier: StartBarrier;
  readonly signal: AbortSignal;
}

/** How long to wait on an idle run before giving up the lease: the next step is a person's, or another run's. */
const idleReleaseMs = 3_000;
const typingIntervalMs = 4_500;

/** Delivers a session's pending chunks: one step at a time within a chat, chats in parallel. */
class DeliveryLoop {
  readonly #deps: SessionDeliveryDeps;
  readonly #sending: SendDeps;
  readonly #loopDeps: DeliveryLoopDeps;
  readonly #typedAt = new Map<string, number>();
  /** Steps in flight, by chat. */
  readonly #steps = new Map<
    string,
    { readonly chunk: PendingChunk; readonly done: Promise<void> }
  >();
  /** Chats of queued chunks, by outbox key. */
  readonly #joined = new Map<string, string>();
  #outcome: { readonly failure?: unknown } | null = null;
  #idleSince: number | null = null;
  /** The store's time when the chunks were last checked. */
  #storeNow = 0;

  constructor(deps: SessionDeliveryDeps, { owner }: DeliverySession, loopDeps: DeliveryLoopDeps) {
    const { adapter, pacer, outage, log } = deps;
    this.#deps = deps;
    this.#loopDeps = loopDeps;
    this.#sending = {
      adapter,
      pacer,
      outage,
      writer: loopDeps.writer,
      now: () => log.store.now(),
      readFile: async (id) => (await log.store.reads.blob(owner, id))?.bytes ?? null,
      signal: loopDeps.signal,
    };
  }

  async work(): Promise<DeliveredUpTo> {
    try {
      const deliveredUpTo = await this.#loop();
      await Promise.all([...this.#steps.values()].map(({ done }) => done));
      if (this.#outcome !== null && "failure" in this.#outcome) throw this.#outcome.failure;
      return deliveredUpTo;
    } finally {
      for (const [key, chat] of this.#joined) this.#deps.queue.leave(chat, key);
    }
  }

  async #loop(): Promise<DeliveredUpTo> {
    const { pending, wake, signal } = this.#loopDeps;
    while (!signal.aborted && this.#outcome === null) {
      if (pending.isCaughtUp && !this.#isBusy()) {
        await this.#startSteps();
        if (pending.chunks.length === 0 && this.#steps.size === 0) return pending.readUpTo;
      }
      const waitMs = this.#idleMs();
      if (waitMs <= 0) return pending.readUpTo;
      this.#showTyping();
      await wake.wait(waitMs, signal);
    }
    return null;
  }

  /** Every chat with pending chunks has a step in flight, so there is nothing to start. */
  #isBusy(): boolean {
    const { chunks } = this.#loopDeps.pending;
    return chunks.length > 0 && chunks.every(({ address }) => this.#steps.has(address.chat));
  }

  /** Starts each chat's first actionable chunk; one that has to wait holds back those after it. */
  async #startSteps(): Promise<void> {
    const { pending, startBarrier: barrier } = this.#loopDeps;
    this.#storeNow = await this.#deps.log.store.now();
    this.#updateQueue();
    barrier.arrive();
    await barrier.allArrived;
    const busyChats = new Set(this.#steps.keys());
    for (const chunk of pending.chunks) {
      const { chat } = chunk.address;
      if (busyChats.has(chat) || this.#actionKindOf(chunk) === "nothing") continue;
      busyChats.add(chat);
      if (this.#mayStart(chunk)) this.#start(chunk);
    }
  }

  #actionKindOf(chunk: PendingChunk) {
    return nextAction(chunk, this.#deps.adapter, this.#storeNow).kind;
  }

  /** Puts our sendable chunks into the chat queues, where other sessions' deliveries see them. */
  #updateQueue(): void {
    for (const chunk of this.#loopDeps.pending.chunks) {
      if (this.#steps.get(chunk.address.chat)?.chunk === chunk) continue;
      const kind = this.#actionKindOf(chunk);
      if (kind === "send" || kind === "file") this.#join(chunk);
      else this.#leave(chunk);
    }
  }

  #join(chunk: PendingChunk): boolean {
    const { address, pendingSince, row } = chunk;
    const key = outboxKey(row);
    this.#joined.set(key, address.chat);
    return this.#deps.queue.join(address.chat, key, {
      pendingSince,
      wake: () => this.#loopDeps.wake.wake(),
    });
  }

  #leave({ address, row }: PendingChunk): void {
    const key = outboxKey(row);
    this.#joined.delete(key);
    this.#deps.queue.leave(address.chat, key);
  }

  #mayStart(chunk: PendingChunk): boolean {
    if (chunk.notBefore > this.#deps.clock.now() || this.#mustWait(chunk)) return false;
    return !this.#joined.has(outboxKey(chunk.row)) || this.#join(chunk);
  }

  /** It was scheduled for a retry before we took over. */
  #mustWait(chunk: PendingChunk): boolean {
    const { retryAt } = chunk.row;
    if (retryAt === null || retryAt <= this.#storeNow) return false;
    chunk.notBefore = Math.max(chunk.notBefore, this.#deps.clock.now() + retryAt - this.#storeNow);
    return true;
  }

  #start(chunk: PendingChunk): void {
    const { chat } = chunk.address;
    const done = sendStep(this.#sending, chunk)
      .then((result) => this.#settle(chunk, result))
      .catch((failure: unknown) => void (this.#outcome = { failure }))
      .finally(() => {
        this.#steps.delete(chat);
        this.#loopDeps.wake.wake();
      });
    this.#steps.set(chat, { chunk, done });
  }

  #settle(chunk: PendingChunk, result: SendStepResult): void {
    this.#idleSince = null;
    switch (result.status) {
      case "lost":
        this.#outcome = {};
        return;
      case "wait":
        // It stays first in its chat's queue: nothing overtakes it.
        chunk.notBefore = this.#deps.clock.now() + result.ms;
        return;
      case "done":
        this.#loopDeps.pending.replace(chunk, result.next);
        // Queue the next chunk before leaving, so that no other session's message gets between.
        this.#updateQueue();
        return this.#leave(chunk);
      case "open":
        return this.#leave(chunk);
    }
  }

  /** How long there is nothing to do. 0: long enough to give up the lease. */
  #idleMs(): number {
    const { pending } = this.#loopDeps;
    const now = this.#deps.clock.now();
    const due = pending.chunks.map(({ notBefore }) => notBefore).filter((time) => time > now);
    if (due.length > 0) return Math.max(1, Math.min(...due) - now);
    const isBusy = this.#steps.size > 0 || this.#joined.size > 0;
    if (isBusy || pending.hasActiveRun || !pending.isCaughtUp) return typingIntervalMs;
    this.#idleSince ??= now;
    return this.#idleSince + idleReleaseMs - now;
  }

  #showTyping(): void {
    const { adapter, clock } = this.#deps;
    if (!adapter.capabilities.typing) return;
    const now = clock.now();
    for (const { address, text } of this.#loopDeps.pending.chunks) {
      if (text === null || !text.isRunning || text.isStreaming) continue;
      if (now - (this.#typedAt.get(address.chat) ?? -Infinity) < typingIntervalMs) continue;
      this.#typedAt.set(address.chat, now);
      void adapter.showTyping(address, this.#loopDeps.signal);
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

const wakeReason = "woken";

/** Wakes a waiting loop. A wake while nobody waits is remembered: the next wait returns at once. */
export class WakeSignal {
  readonly #clock: Clock;
  #isWoken = false;
  #waiting: AbortController | null = null;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  wake(): void {
    this.#isWoken = true;
    // An explicit reason avoids the cost of creating an Error.
    this.#waiting?.abort(wakeReason);
  }

  async wait(timeoutMs: number, signal: AbortSignal): Promise<void> {
    if (!this.#isWoken) {
      this.#waiting = new AbortController();
      await this.#clock.sleep(timeoutMs, AbortSignal.any([signal, this.#waiting.signal]));
      this.#waiting = null;
    }
    this.#isWoken = false;
  }
}
