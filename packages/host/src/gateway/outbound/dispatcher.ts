import type { Clock } from "@holdfast/engine";
import type { OwnerId, Seq, SessionId } from "@holdfast/protocol";

import type { PendingChunk } from "./chunk.ts";
import { OutageMonitor, Pacer } from "./pacing.ts";
import {
  deliverSession,
  type SessionDelivery,
  type SessionDeliveryDeps,
  type SessionRef,
} from "./session-delivery.ts";

export interface DispatcherDeps extends Omit<SessionDeliveryDeps, "pacer" | "outage" | "wake"> {
  /** How often the store is searched for undelivered chunks. Only reads. */
  readonly sweepMs: number;
  readonly onError: (error: unknown) => void;
}

/** One run of the dispatcher: its dependencies, and the signal that ends it. */
interface Running {
  readonly deps: SessionDeliveryDeps;
  readonly signal: AbortSignal;
}

const maxSessionsPerSweep = 1_000;

/**
 * Delivers everything due to a bot's chats, whichever host accepted or ran it. One loop decides for all sessions what
 * is sent next, because several may write to one chat if its lane moved during an answer.
 */
export class Dispatcher {
  readonly #deps: DispatcherDeps;
  readonly #wake: WakeSignal;
  /** Sessions that are being opened, delivered or closed. */
  readonly #active = new Map<SessionId, Promise<void>>();
  /** The active sessions that are open. */
  readonly #open = new Set<SessionDelivery>();
  /** The log's head when nothing was left to deliver: until it moves, there is nothing to check. */
  readonly #deliveredUpTo = new Map<SessionId, Seq>();
  readonly #notified = new Set<SessionId>();
  #running: Running | null = null;

  constructor(deps: DispatcherDeps) {
    this.#deps = deps;
    this.#wake = new WakeSignal(deps.clock);
  }

  /** The session may have something to deliver. A delivery already running picks it up by itself. */
  notify(owner: OwnerId, session: SessionId): void {
    this.#startDeliveries([{ owner, session }]);
  }

  /** Delivers until the signal is aborted. */
  async run(signal: AbortSignal): Promise<void> {
    const { adapter, clock, sweepMs, onError } = this.#deps;
    const pacer = new Pacer(adapter.limits, clock);
    const outage = new OutageMonitor(adapter, pacer, clock, signal);
    const wake = () => this.#wake.wake();
    this.#running = { deps: { ...this.#deps, pacer, outage, wake }, signal };
    this.#deliveredUpTo.clear();
    let sweeping: Promise<void> | null = null;
    let sweepAt = clock.now();
    while (!signal.aborted) {
      if (sweeping === null && clock.now() >= sweepAt)
        sweeping = this.#sweep()
          .catch(onError)
          .finally(() => {
            sweeping = null;
            sweepAt = clock.now() + sweepMs;
            wake();
          });
      const waitMs = await this.#advance();
      const sweepInMs = sweeping === null ? sweepAt - clock.now() : sweepMs;
      await this.#wake.wait(Math.max(0, Math.min(waitMs, sweepInMs)), signal);
    }
    this.#running = null;
    await sweeping;
    await Promise.all(this.#active.values());
  }

  /** Starts what can be sent now. Returns how many milliseconds to wait before the next check. */
  async #advance(): Promise<number> {
    const { clock, sweepMs } = this.#deps;
    if (this.#due().some((delivery) => delivery.hasWork)) await this.#startSteps();
    for (const delivery of this.#due()) orFail(delivery, () => delivery.rest());
    let dueAt = clock.now() + sweepMs;
    for (const delivery of this.#open) dueAt = Math.min(dueAt, delivery.dueAt);
    return dueAt - clock.now();
  }

  #due(): readonly SessionDelivery[] {
    const now = this.#deps.clock.now();
    return [...this.#open].filter((delivery) => delivery.isHeldBack || delivery.dueAt <= now);
  }

  /** The oldest message that is ready for a chat goes first, and keeps its turn while it waits for a retry. */
  async #startSteps(): Promise<void> {
    let storeNow: number;
    try {
      storeNow = await this.#deps.log.store.now();
    } catch (error) {
      for (const delivery of this.#due()) delivery.fail(error);
      return;
    }
    // No await from here on: a message that finished meanwhile would lose its turn to another session before its next
    // chunk is seen.
    const deliveries = this.#due().filter((delivery) => delivery.hasWork);
    for (const delivery of deliveries) orFail(delivery, () => delivery.decide(storeNow));
    const firstByChat = new Map<string, PendingChunk>();
    for (const { ready } of this.#open)
      for (const chunk of ready) {
        const { chat } = chunk.address;
        const first = firstByChat.get(chat);
        if (first === undefined || chunk.pendingSince < first.pendingSince)
          firstByChat.set(chat, chunk);
      }
    for (const delivery of deliveries) orFail(delivery, () => delivery.startSteps(firstByChat));
  }

  #startDeliveries(targets: readonly SessionRef[]): void {
    if (this.#running === null || this.#running.signal.aborted) return;
    const idle = targets.filter(({ session }) => !this.#active.has(session));
    for (const { session } of targets) if (this.#active.has(session)) this.#notified.add(session);
    // Deliveries that start together send in order, so none sends before all have been read.
    const unread = new Set(idle.map(({ session }) => session));
    for (const target of idle) this.#deliver(this.#running, target, unread);
  }

  #deliver({ deps, signal }: Running, target: SessionRef, unread: Set<SessionId>): void {
    const { session } = target;
    let opened: SessionDelivery | undefined;
    const work = deliverSession(deps, { ...target, unread }, signal, (delivery) => {
      opened = delivery;
      this.#open.add(delivery);
      this.#wake.wake();
    })
      .then(
        (head) =>
          void (head === null
            ? this.#deliveredUpTo.delete(session)
            : this.#deliveredUpTo.set(session, head)),
      )
      .catch((error: unknown) => {
        this.#deliveredUpTo.delete(session);
        this.#deps.onError(error);
      })
      .finally(() => {
        if (opened !== undefined) this.#open.delete(opened);
        unread.delete(session);
        this.#wake.wake();
        this.#onEnded(session);
      });
    this.#active.set(session, work);
  }

  /** A notification that arrived while the delivery was ending may have been missed. */
  #onEnded(session: SessionId): void {
    this.#active.delete(session);
    if (this.#notified.delete(session)) void this.#sweep().catch(this.#deps.onError);
  }

  async #sweep(): Promise<void> {
    if (this.#running === null) return;
    const due = await this.#deps.log.store.work.undelivered(maxSessionsPerSweep);
    const dueSessions = new Set(due.map(({ session }) => session));
    for (const session of this.#deliveredUpTo.keys())
      if (!dueSessions.has(session)) this.#deliveredUpTo.delete(session);
    this.#startDeliveries(
      due.filter(({ session, head }) => this.#deliveredUpTo.get(session) !== head),
    );
  }
}

/** A bug in one delivery does not end the others. */
function orFail(delivery: SessionDelivery, work: () => void): void {
  try {
    work();
  } catch (error) {
    delivery.fail(error);
  }
}

const wakeReason = "woken";

/** Wakes a waiting loop. A wake while nobody waits is remembered: the next wait returns at once. */
class WakeSignal {
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
