import type { OwnerId, Seq, SessionId } from "@holdfast/protocol";

import {
  type SessionDeliveryDeps,
  type DeliverySession,
  deliverSession,
  type StartBarrier,
} from "./session-delivery.ts";

export interface DispatcherDeps extends SessionDeliveryDeps {
  /** How often the store is looked through for what is owed. Reads alone. */
  readonly sweepMs: number;
  readonly onError: (error: unknown) => void;
}

const maxSessionsPerSweep = 1_000;

/** Sees to it that whatever is owed to a bot's chats goes out, whoever accepted it and whoever ran it. */
export class Dispatcher {
  readonly #deps: DispatcherDeps;
  readonly #active = new Map<SessionId, Promise<void>>();
  /** How far the log went when there was nothing more to do: until it goes on, there is nothing to look at. */
  readonly #seen = new Map<SessionId, Seq>();
  readonly #poked = new Set<SessionId>();
  readonly #stop = new AbortController();
  #loop: Promise<void> = Promise.resolve();

  constructor(deps: DispatcherDeps) {
    this.#deps = deps;
  }

  start(): void {
    this.#loop = this.#sweepForEver();
  }

  /** Something may be owed here: who is under way already sees it by itself. */
  notify(owner: OwnerId, session: SessionId): void {
    this.#sendOff([{ owner, session }]);
  }

  #sendOff(targets: readonly DeliverySession[]): void {
    if (this.#stop.signal.aborted) return;
    const idle = targets.filter(({ session }) => !this.#active.has(session));
    for (const { session } of targets) if (this.#active.has(session)) this.#poked.add(session);
    const fellows = createStartBarriers(idle.length);
    for (const [index, target] of idle.entries()) this.#deliver(target, fellows[index]!);
  }

  #deliver(target: DeliverySession, fellows: StartBarrier): void {
    const { session } = target;
    const work = deliverSession(this.#deps, target, this.#stop.signal, fellows)
      .then(
        (seen) => void (seen === null ? this.#seen.delete(session) : this.#seen.set(session, seen)),
      )
      .catch((error: unknown) => {
        this.#seen.delete(session);
        this.#deps.onError(error);
      })
      .finally(() => {
        fellows.arrive();
        this.#ended(session);
      });
    this.#active.set(session, work);
  }

  /** Whoever was poked while it was about to leave may have left something behind. */
  #ended(session: SessionId): void {
    this.#active.delete(session);
    if (this.#poked.delete(session)) void this.#sweep().catch(this.#deps.onError);
  }

  async stop(): Promise<void> {
    this.#stop.abort();
    await this.#loop;
    await Promise.all(this.#active.values());
  }

  async #sweepForEver(): Promise<void> {
    const { clock, sweepMs, onError } = this.#deps;
    const { signal } = this.#stop;
    while (!signal.aborted) {
      await this.#sweep().catch(onError);
      await clock.sleep(sweepMs, signal);
    }
  }

  async #sweep(): Promise<void> {
    if (this.#stop.signal.aborted) return;
    const due = await this.#deps.log.store.work.undelivered(maxSessionsPerSweep);
    const named = new Set(due.map(({ session }) => session));
    for (const session of this.#seen.keys()) if (!named.has(session)) this.#seen.delete(session);
    this.#sendOff(due.filter(({ session, head }) => this.#seen.get(session) !== head));
  }
}

/** Each arrives once, however often it says so; all go on when all have. */
function createStartBarriers(count: number): readonly StartBarrier[] {
  const { promise: allArrived, resolve } = Promise.withResolvers<void>();
  let missing = count;
  return Array.from({ length: count }, () => {
    let isThere = false;
    const arrive = () => {
      if (isThere) return;
      isThere = true;
      missing -= 1;
      if (missing === 0) resolve();
    };
    return { arrive, allArrived };
  });
}
