import { outboxKey } from "@holdfast/engine";

import { actionOf, type ChunkJob } from "./chunk.ts";
import type { CourierDeps, CourierEnd, CourierTarget, Fellows } from "./courier.ts";
import type { OutboxDesk } from "./outbox-desk.ts";
import type { OwedChunks } from "./owed-chunks.ts";
import { type SendDeps, type StepResult, takeStep } from "./send-chunk.ts";
import type { Wake } from "./session-delivery.ts";

export interface RoundWork {
  readonly owed: OwedChunks;
  readonly desk: OutboxDesk;
  readonly wake: Wake;
  readonly fellows: Fellows;
  readonly signal: AbortSignal;
}

/** How long one waits for a run that rests before the lease is given back: it is a person's turn, or another run's. */
const patienceMs = 3_000;
const typingEveryMs = 4_500;

/** Takes what a session owes to its chats out: in each chat one step at a time, in all chats at once. */
export class DeliveryRound {
  readonly #deps: CourierDeps;
  readonly #sending: SendDeps;
  readonly #work: RoundWork;
  readonly #typedAt = new Map<string, number>();
  /** What is under way, by chat. */
  readonly #steps = new Map<string, { readonly job: ChunkJob; readonly done: Promise<void> }>();
  /** The chats of those that wait for their turn, by what names them. */
  readonly #joined = new Map<string, string>();
  #end: { readonly failure?: unknown } | null = null;
  #idleSince: number | null = null;
  /** By the store's clock, when we looked last. */
  #at = 0;

  constructor(deps: CourierDeps, { owner }: CourierTarget, work: RoundWork) {
    const { adapter, pacer, outage, log } = deps;
    this.#deps = deps;
    this.#work = work;
    this.#sending = {
      adapter,
      pacer,
      outage,
      desk: work.desk,
      now: () => log.store.now(),
      readFile: async (id) => (await log.store.reads.blob(owner, id))?.bytes ?? null,
      signal: work.signal,
    };
  }

  async work(): Promise<CourierEnd> {
    try {
      const seen = await this.#workOn();
      await Promise.all([...this.#steps.values()].map(({ done }) => done));
      if (this.#end !== null && "failure" in this.#end) throw this.#end.failure;
      return seen;
    } finally {
      for (const [key, chat] of this.#joined) this.#deps.order.leave(chat, key);
    }
  }

  async #workOn(): Promise<CourierEnd> {
    const { owed, wake, signal } = this.#work;
    while (!signal.aborted && this.#end === null) {
      if (owed.isCaughtUp && !this.#isBusy()) {
        await this.#beginSteps();
        if (owed.jobs.length === 0 && this.#steps.size === 0) return owed.followed;
      }
      const ms = this.#restMs();
      if (ms <= 0) return owed.followed;
      this.#type();
      await wake.wait(ms, signal);
    }
    return null;
  }

  /** Something is under way wherever there is something to do: what else there is shows when it is done. */
  #isBusy(): boolean {
    const { jobs } = this.#work.owed;
    return jobs.length > 0 && jobs.every(({ place }) => this.#steps.has(place.chat));
  }

  /** In each chat the first chunk that has something to do; one that has to wait holds back what comes behind it. */
  async #beginSteps(): Promise<void> {
    const { owed, fellows } = this.#work;
    this.#at = await this.#deps.log.store.now();
    this.#announce();
    fellows.arrive();
    await fellows.all;
    const seen = new Set(this.#steps.keys());
    for (const job of owed.jobs) {
      const { chat } = job.place;
      if (seen.has(chat) || this.#kindOf(job) === "nothing") continue;
      seen.add(chat);
      if (this.#mayGo(job)) this.#begin(job);
    }
  }

  #kindOf(job: ChunkJob) {
    return actionOf(job, this.#deps.adapter, this.#at).kind;
  }

  /** Whoever else has something for these chats knows what we have for them. */
  #announce(): void {
    for (const job of this.#work.owed.jobs) {
      if (this.#steps.get(job.place.chat)?.job === job) continue;
      const kind = this.#kindOf(job);
      if (kind === "send" || kind === "file") this.#join(job);
      else this.#leave(job);
    }
  }

  #join(job: ChunkJob): boolean {
    const { place, since, row } = job;
    const key = outboxKey(row);
    this.#joined.set(key, place.chat);
    return this.#deps.order.join(place.chat, key, { since, bell: () => this.#work.wake.ring() });
  }

  #leave({ place, row }: ChunkJob): void {
    const key = outboxKey(row);
    this.#joined.delete(key);
    this.#deps.order.leave(place.chat, key);
  }

  #mayGo(job: ChunkJob): boolean {
    if (job.notBefore > this.#deps.clock.now() || this.#isEarly(job)) return false;
    return !this.#joined.has(outboxKey(job.row)) || this.#join(job);
  }

  /** It was told to wait before we took it over. */
  #isEarly(job: ChunkJob): boolean {
    const { retryAt } = job.row;
    if (retryAt === null || retryAt <= this.#at) return false;
    job.notBefore = Math.max(job.notBefore, this.#deps.clock.now() + retryAt - this.#at);
    return true;
  }

  #begin(job: ChunkJob): void {
    const { chat } = job.place;
    const done = takeStep(this.#sending, job)
      .then((result) => this.#settle(job, result))
      .catch((failure: unknown) => void (this.#end = { failure }))
      .finally(() => {
        this.#steps.delete(chat);
        this.#work.wake.ring();
      });
    this.#steps.set(chat, { job, done });
  }

  #settle(job: ChunkJob, result: StepResult): void {
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
        this.#work.owed.replace(job, result.next);
        // What follows it takes its place before anybody else can.
        this.#announce();
        return this.#leave(job);
      case "open":
        return this.#leave(job);
    }
  }

  /** How long nothing is to do, as far as we know. 0: so long that somebody else may look after it. */
  #restMs(): number {
    const { owed } = this.#work;
    const now = this.#deps.clock.now();
    const due = owed.jobs.map(({ notBefore }) => notBefore).filter((time) => time > now);
    if (due.length > 0) return Math.max(1, Math.min(...due) - now);
    const isBusy = this.#steps.size > 0 || this.#joined.size > 0;
    if (isBusy || owed.isGoing || !owed.isCaughtUp) return typingEveryMs;
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
