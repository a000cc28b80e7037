import type { IdSource, OwnerId, Seq, SessionId } from "@holdfast/protocol";

import type { Adapter } from "./adapter.ts";
import { actionOf, type ChunkJob } from "./chunk-job.ts";
import { followEvents } from "./follow.ts";
import { OutboxDesk } from "./outbox-desk.ts";
import { OwedChunks } from "./owed-chunks.ts";
import type { Pacer } from "./pace.ts";
import { placeOf } from "./place.ts";
import { type SendDeps, takeStep } from "./send-chunk.ts";
import { type LeaseDeps, takeOutbox } from "./take-lease.ts";
import { Wake } from "./wake.ts";

export interface CourierDeps extends LeaseDeps {
  readonly ids: IdSource;
  readonly adapter: Adapter;
  readonly bot: string;
  readonly pacer: Pacer;
}

export interface CourierTarget {
  readonly owner: OwnerId;
  readonly session: SessionId;
}

/** How far the log was seen when nothing more was to do; `null` when it could not be looked at to the end. */
export type CourierEnd = Seq | null;

/** How long one waits for a run that rests before the lease is given back: it is a person's turn, or another run's. */
const patienceMs = 3_000;
const typingEveryMs = 4_500;

/** Brings out what a session owes to the chats of one bot, under the session's outbox lease. */
export async function deliver(
  deps: CourierDeps,
  target: CourierTarget,
  stopping: AbortSignal,
): Promise<CourierEnd> {
  const held = await takeOutbox(deps, target.session);
  if (held === null) return null;
  const { lease, heartbeat } = held;
  const over = new AbortController();
  const signal = AbortSignal.any([stopping, heartbeat.lost, over.signal]);
  const { log, ids, adapter, bot } = deps;
  try {
    const desk = new OutboxDesk(log, ids, target.owner, lease.fence);
    const owed = new OwedChunks({
      log,
      ...target,
      desk,
      placeOf: ({ lane }) => placeOf(adapter.platform, bot, lane),
    });
    const first = await owed.load();
    if (first === null)
      return (await log.store.reads.session(target.owner, target.session))?.head ?? null;
    const wake = new Wake(deps.clock);
    const following = follow(deps, target, { owed, wake, first, signal });
    const seen = await new Round(deps, target, { owed, desk, wake, signal }).work();
    over.abort();
    await following;
    return seen;
  } finally {
    over.abort();
    await heartbeat.stop();
    await log.store.leases.release(lease);
  }
}

async function follow(
  { log }: CourierDeps,
  target: CourierTarget,
  { owed, wake, first, signal }: { owed: OwedChunks; wake: Wake; first: Seq; signal: AbortSignal },
): Promise<void> {
  for await (const { events, head } of followEvents(log, target, first, signal)) {
    for (const event of events) await owed.take(event);
    owed.reach(head);
    wake.ring();
  }
}

interface Work {
  readonly owed: OwedChunks;
  readonly desk: OutboxDesk;
  readonly wake: Wake;
  readonly signal: AbortSignal;
}

class Round {
  readonly #deps: CourierDeps;
  readonly #sending: SendDeps;
  readonly #work: Work;
  readonly #typedAt = new Map<string, number>();
  #idleSince: number | null = null;

  constructor(deps: CourierDeps, { owner }: CourierTarget, work: Work) {
    const { adapter, pacer, log } = deps;
    this.#deps = deps;
    this.#work = work;
    this.#sending = {
      adapter,
      pacer,
      desk: work.desk,
      now: () => log.store.now(),
      readFile: async (id) => (await log.store.reads.blob(owner, id))?.bytes ?? null,
      signal: work.signal,
    };
  }

  async work(): Promise<CourierEnd> {
    const { owed, wake, signal } = this.#work;
    while (!signal.aborted) {
      const stepped = owed.isCaughtUp ? await this.#stepOnce() : "none";
      if (stepped === "lost") return null;
      if (stepped === "done") continue;
      if (owed.isCaughtUp && owed.jobs.length === 0) return owed.followed;
      const ms = this.#restMs();
      if (ms <= 0) return owed.followed;
      this.#type();
      await wake.wait(ms, signal);
    }
    return null;
  }

  /** The first chunk that has something to do goes; one that has to wait holds back what comes behind it in its lane. */
  async #stepOnce(): Promise<"done" | "none" | "lost"> {
    const { owed } = this.#work;
    const { clock, adapter, log } = this.#deps;
    const blocked = new Set<string>();
    const at = await log.store.now();
    for (const job of owed.jobs) {
      const { lane } = job.row;
      const action = actionOf(job, adapter.limits.textUnits, at);
      if (action.kind === "nothing" || blocked.has(lane)) continue;
      if (job.notBefore > clock.now() || this.#isEarly(job, at)) {
        blocked.add(lane);
        continue;
      }
      const result = await takeStep(this.#sending, job);
      if (result.status === "lost") return "lost";
      if (result.status === "done") owed.replace(job, result.next);
      if (result.status === "wait") job.notBefore = clock.now() + result.ms;
      this.#idleSince = null;
      return "done";
    }
    return "none";
  }

  /** It was told to wait before we took it over. */
  #isEarly(job: ChunkJob, at: number): boolean {
    const { retryAt } = job.row;
    if (retryAt === null || retryAt <= at) return false;
    job.notBefore = Math.max(job.notBefore, this.#deps.clock.now() + retryAt - at);
    return true;
  }

  /** How long nothing is to do, as far as we know. 0: so long that somebody else may look after it. */
  #restMs(): number {
    const { owed } = this.#work;
    const now = this.#deps.clock.now();
    const due = owed.jobs.map(({ notBefore }) => notBefore).filter((time) => time > now);
    if (due.length > 0) return Math.max(1, Math.min(...due) - now);
    if (owed.isGoing || !owed.isCaughtUp) return typingEveryMs;
    this.#idleSince ??= now;
    return this.#idleSince + patienceMs - now;
  }

  #type(): void {
    const { adapter, clock } = this.#deps;
    if (!adapter.capabilities.typing) return;
    const now = clock.now();
    for (const { place, text } of this.#work.owed.jobs) {
      if (text === null || !text.isGoing || text.isLive) continue;
      if (now - (this.#typedAt.get(place.chat) ?? -Infinity) < typingEveryMs) continue;
      this.#typedAt.set(place.chat, now);
      void adapter.typing(place, this.#work.signal);
    }
  }
}
