import type { OwnerId, Seq, SessionId } from "@holdfast/protocol";

import {
  type SessionDeliveryDeps,
  type DeliverySession,
  deliverSession,
  type StartBarrier,
} from "./session-delivery.ts";

export interface DispatcherDeps extends SessionDeliveryDeps {
  /** How often the store is searched for undelivered chunks. Only reads. */
  readonly sweepMs: number;
  readonly onError: (error: unknown) => void;
}

const maxSessionsPerSweep = 1_000;

/** Delivers everything that is due to a bot's chats, whichever host accepted or ran it. */
export class Dispatcher {
  readonly #deps: DispatcherDeps;
  readonly #active = new Map<SessionId, Promise<void>>();
  /** The log's head when nothing was left to deliver: until it moves, there is nothing to check. */
  readonly #deliveredUpTo = new Map<SessionId, Seq>();
  readonly #notified = new Set<SessionId>();
  readonly #stopping = new AbortController();
  #sweeping: Promise<void> = Promise.resolve();

  constructor(deps: DispatcherDeps) {
    this.#deps = deps;
  }

  start(): void {
    this.#sweeping = this.#sweepLoop();
  }

  /** The session may have something to deliver. A delivery already running picks it up by itself. */
  notify(owner: OwnerId, session: SessionId): void {
    this.#startDeliveries([{ owner, session }]);
  }

  #startDeliveries(targets: readonly DeliverySession[]): void {
    if (this.#stopping.signal.aborted) return;
    const idle = targets.filter(({ session }) => !this.#active.has(session));
    for (const { session } of targets) if (this.#active.has(session)) this.#notified.add(session);
    const barriers = createStartBarriers(idle.length);
    for (const [index, target] of idle.entries()) this.#deliver(target, barriers[index]!);
  }

  #deliver(target: DeliverySession, barrier: StartBarrier): void {
    const { session } = target;
    const work = deliverSession(this.#deps, target, this.#stopping.signal, barrier)
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
        barrier.arrive();
        this.#onEnded(session);
      });
    this.#active.set(session, work);
  }

  /** A notification that arrived while the delivery was ending may have been missed. */
  #onEnded(session: SessionId): void {
    this.#active.delete(session);
    if (this.#notified.delete(session)) void this.#sweep().catch(this.#deps.onError);
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#sweeping;
    await Promise.all(this.#active.values());
  }

  async #sweepLoop(): Promise<void> {
    const { clock, sweepMs, onError } = this.#deps;
    const { signal } = this.#stopping;
    while (!signal.aborted) {
      await this.#sweep().catch(onError);
      await clock.sleep(sweepMs, signal);
    }
  }

  async #sweep(): Promise<void> {
    if (this.#stopping.signal.aborted) return;
    const due = await this.#deps.log.store.work.undelivered(maxSessionsPerSweep);
    const dueSessions = new Set(due.map(({ session }) => session));
    for (const session of this.#deliveredUpTo.keys())
      if (!dueSessions.has(session)) this.#deliveredUpTo.delete(session);
    this.#startDeliveries(
      due.filter(({ session, head }) => this.#deliveredUpTo.get(session) !== head),
    );
  }
}

/** Each barrier arrives once, however often it is called; all continue when all have arrived. */
function createStartBarriers(count: number): readonly StartBarrier[] {
  const { promise: allArrived, resolve } = Promise.withResolvers<void>();
  let remaining = count;
  return Array.from({ length: count }, () => {
    let hasArrived = false;
    const arrive = () => {
      if (hasArrived) return;
      hasArrived = true;
      remaining -= 1;
      if (remaining === 0) resolve();
    };
    return { arrive, allArrived };
  });
}
