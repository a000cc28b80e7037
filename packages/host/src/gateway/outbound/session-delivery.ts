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
import type { ChatAddressing } from "../chat-addressing.ts";

const wakeReason = "rung";

/** A bell for one who waits. A ring while nobody waits is not lost: the next wait ends at once. */
export class WakeSignal {
  readonly #clock: Clock;
  #rung = false;
  #waiting: AbortController | null = null;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  wake(): void {
    this.#rung = true;
    // With a reason of its own no error is made of it, which would cost more than the rest.
    this.#waiting?.abort(wakeReason);
  }

  async wait(ms: number, signal: AbortSignal): Promise<void> {
    if (!this.#rung) {
      this.#waiting = new AbortController();
      await this.#clock.sleep(ms, AbortSignal.any([signal, this.#waiting.signal]));
      this.#waiting = null;
    }
    this.#rung = false;
  }
}

export interface OutboxLeaseDeps {
  readonly log: Log;
  readonly clock: Clock;
  readonly holder: () => Holder;
  readonly liveness: Liveness;
  readonly leaseMs: number;
}

export interface OutboxLease {
  readonly lease: LeaseRow;
  readonly heartbeat: Heartbeat;
}

/** P11: two hosts never send for one session at once. `null`: somebody else does, or the session is gone. */
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

export interface DeliveryLoopDeps {
  readonly pending: PendingChunks;
  readonly writer: OutboxWriter;
  readonly wake: WakeSignal;
  readonly startBarrier: StartBarrier;
  readonly signal: AbortSignal;
}

/** How long one waits for a run that rests before the lease is given back: it is a person's turn, or another run's. */
const idleReleaseMs = 3_000;
const typingIntervalMs = 4_500;

/** Takes what a session owes to its chats out: in each chat one step at a time, in all chats at once. */
class DeliveryLoop {
  readonly #deps: SessionDeliveryDeps;
  readonly #sending: SendDeps;
  readonly #work: DeliveryLoopDeps;
  readonly #typedAt = new Map<string, number>();
  /** What is under way, by chat. */
  readonly #steps = new Map<string, { readonly job: PendingChunk; readonly done: Promise<void> }>();
  /** The chats of those that wait for their turn, by what names them. */
  readonly #joined = new Map<string, string>();
  #end: { readonly failure?: unknown } | null = null;
  #idleSince: number | null = null;
  /** By the store's clock, when we looked last. */
  #at = 0;

  constructor(deps: SessionDeliveryDeps, { owner }: DeliverySession, run: DeliveryLoopDeps) {
    const { adapter, pacer, outage, log } = deps;
    this.#deps = deps;
    this.#work = run;
    this.#sending = {
      adapter,
      pacer,
      outage,
      writer: run.writer,
      now: () => log.store.now(),
      readFile: async (id) => (await log.store.reads.blob(owner, id))?.bytes ?? null,
      signal: run.signal,
    };
  }

  async work(): Promise<DeliveredUpTo> {
    try {
      const seen = await this.#workOn();
      await Promise.all([...this.#steps.values()].map(({ done }) => done));
      if (this.#end !== null && "failure" in this.#end) throw this.#end.failure;
      return seen;
    } finally {
      for (const [key, chat] of this.#joined) this.#deps.queue.leave(chat, key);
    }
  }

  async #workOn(): Promise<DeliveredUpTo> {
    const { pending: owed, wake, signal } = this.#work;
    while (!signal.aborted && this.#end === null) {
      if (owed.isCaughtUp && !this.#isBusy()) {
        await this.#beginSteps();
        if (owed.chunks.length === 0 && this.#steps.size === 0) return owed.readUpTo;
      }
      const ms = this.#restMs();
      if (ms <= 0) return owed.readUpTo;
      this.#type();
      await wake.wait(ms, signal);
    }
    return null;
  }

  /** Something is under way wherever there is something to do: what else there is shows when it is done. */
  #isBusy(): boolean {
    const { chunks: jobs } = this.#work.pending;
    return jobs.length > 0 && jobs.every(({ address: place }) => this.#steps.has(place.chat));
  }

  /** In each chat the first chunk that has something to do; one that has to wait holds back what comes behind it. */
  async #beginSteps(): Promise<void> {
    const { pending: owed, startBarrier: fellows } = this.#work;
    this.#at = await this.#deps.log.store.now();
    this.#announce();
    fellows.arrive();
    await fellows.allArrived;
    const seen = new Set(this.#steps.keys());
    for (const job of owed.chunks) {
      const { chat } = job.address;
      if (seen.has(chat) || this.#kindOf(job) === "nothing") continue;
      seen.add(chat);
      if (this.#mayGo(job)) this.#begin(job);
    }
  }

  #kindOf(job: PendingChunk) {
    return nextAction(job, this.#deps.adapter, this.#at).kind;
  }

  /** Whoever else has something for these chats knows what we have for them. */
  #announce(): void {
    for (const job of this.#work.pending.chunks) {
      if (this.#steps.get(job.address.chat)?.job === job) continue;
      const kind = this.#kindOf(job);
      if (kind === "send" || kind === "file") this.#join(job);
      else this.#leave(job);
    }
  }

  #join(job: PendingChunk): boolean {
    const { address: place, pendingSince: since, row } = job;
    const key = outboxKey(row);
    this.#joined.set(key, place.chat);
    return this.#deps.queue.join(place.chat, key, {
      pendingSince: since,
      wake: () => this.#work.wake.wake(),
    });
  }

  #leave({ address: place, row }: PendingChunk): void {
    const key = outboxKey(row);
    this.#joined.delete(key);
    this.#deps.queue.leave(place.chat, key);
  }

  #mayGo(job: PendingChunk): boolean {
    if (job.notBefore > this.#deps.clock.now() || this.#isEarly(job)) return false;
    return !this.#joined.has(outboxKey(job.row)) || this.#join(job);
  }

  /** It was told to wait before we took it over. */
  #isEarly(job: PendingChunk): boolean {
    const { retryAt } = job.row;
    if (retryAt === null || retryAt <= this.#at) return false;
    job.notBefore = Math.max(job.notBefore, this.#deps.clock.now() + retryAt - this.#at);
    return true;
  }

  #begin(job: PendingChunk): void {
    const { chat } = job.address;
    const done = sendStep(this.#sending, job)
      .then((result) => this.#settle(job, result))
      .catch((failure: unknown) => void (this.#end = { failure }))
      .finally(() => {
        this.#steps.delete(chat);
        this.#work.wake.wake();
      });
    this.#steps.set(chat, { job, done });
  }

  #settle(job: PendingChunk, result: SendStepResult): void {
    this.#idleSince = null;
    switch (result.status) {
      case "lost":
        this.#end = {};
        return;
      case "wait":
        // It stays the first in its chat: nothing overtakes it.
        job.notBefore = this.#deps.clock.now() + result.ms;
        return;
      case "done":
        this.#work.pending.replace(job, result.next);
        // What follows it takes its place before anybody else can.
        this.#announce();
        return this.#leave(job);
      case "open":
        return this.#leave(job);
    }
  }

  /** How long nothing is to do, as far as we know. 0: so long that somebody else may look after it. */
  #restMs(): number {
    const { pending: owed } = this.#work;
    const now = this.#deps.clock.now();
    const due = owed.chunks.map(({ notBefore }) => notBefore).filter((time) => time > now);
    if (due.length > 0) return Math.max(1, Math.min(...due) - now);
    const isBusy = this.#steps.size > 0 || this.#joined.size > 0;
    if (isBusy || owed.hasActiveRun || !owed.isCaughtUp) return typingIntervalMs;
    this.#idleSince ??= now;
    return this.#idleSince + idleReleaseMs - now;
  }

  #type(): void {
    const { adapter, clock } = this.#deps;
    if (!adapter.capabilities.typing) return;
    const now = clock.now();
    for (const { address: place, text } of this.#work.pending.chunks) {
      if (text === null || !text.isRunning || text.isStreaming) continue;
      if (now - (this.#typedAt.get(place.chat) ?? -Infinity) < typingIntervalMs) continue;
      this.#typedAt.set(place.chat, now);
      void adapter.showTyping(place, this.#work.signal);
    }
  }
}

export interface SessionDeliveryDeps extends OutboxLeaseDeps {
  readonly ids: IdSource;
  readonly adapter: PlatformAdapter;
  readonly addressing: ChatAddressing;
  readonly pacer: Pacer;
  readonly queue: ChatQueue;
  readonly outage: OutageMonitor;
}

export interface DeliverySession {
  readonly owner: OwnerId;
  readonly session: SessionId;
}

/** How far the log was seen when nothing more was to do; `null` when it could not be looked at to the end. */
export type DeliveredUpTo = Seq | null;

/** Those who were sent off together know of each other's messages before the first of them is sent. */
export interface StartBarrier {
  /** Called once, when this one knows what it owes, or will owe nothing. */
  readonly arrive: () => void;
  readonly allArrived: Promise<void>;
}

/** Brings out what a session owes to the chats of one bot, under the session's outbox lease. */
export async function deliverSession(
  deps: SessionDeliveryDeps,
  target: DeliverySession,
  stopping: AbortSignal,
  fellows: StartBarrier,
): Promise<DeliveredUpTo> {
  const held = await acquireOutboxLease(deps, target.session);
  if (held === null) return null;
  const { lease, heartbeat } = held;
  const over = new AbortController();
  const signal = AbortSignal.any([stopping, heartbeat.lost, over.signal]);
  const { log, ids, adapter, addressing: names } = deps;
  try {
    const desk = new OutboxWriter(log, ids, target.owner, lease.fence);
    const owed = new PendingChunks({
      log,
      ...target,
      writer: desk,
      addressOf: ({ lane }) => names.addressOf(lane),
      repeats: adapter.capabilities.repeats,
    });
    const first = await owed.load();
    if (first === null)
      return (await log.store.reads.session(target.owner, target.session))?.head ?? null;
    const wake = new WakeSignal(deps.clock);
    const round = new DeliveryLoop(deps, target, {
      pending: owed,
      writer: desk,
      wake,
      startBarrier: fellows,
      signal,
    });
    const following = followLog(deps, target, { owed, wake, first, signal });
    // Who does not hear of what is new has nothing more to do here.
    void following.catch(() => undefined).finally(() => over.abort());
    const seen = await round.work();
    over.abort();
    await following;
    return seen;
  } finally {
    over.abort();
    await heartbeat.stop();
    await log.store.leases.release(lease);
  }
}

async function followLog(
  { log }: SessionDeliveryDeps,
  target: DeliverySession,
  {
    owed,
    wake,
    first,
    signal,
  }: { owed: PendingChunks; wake: WakeSignal; first: Seq; signal: AbortSignal },
): Promise<void> {
  for await (const { events, head } of followEvents(log, target, first, signal)) {
    for (const event of events) await owed.apply(event);
    owed.advanceTo(head);
    wake.wake();
  }
}
