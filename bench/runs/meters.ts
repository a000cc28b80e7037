import type { Commit, CommitResult, Store } from "@holdfast/engine";

import { LoopDelay } from "../harness/interleave.ts";
import { Samples } from "../harness/samples.ts";

export interface Summary {
  readonly count: number;
  readonly p50: number;
  readonly p99: number;
  readonly max: number;
}

export function summaryOf(samples: Samples): Summary {
  const { count, p50, p99, max } = samples;
  return { count, p50, p99, max };
}

/** A store that measures how long its journal commits take, and how many deltas they carry. */
export class CommitMeter {
  times = new Samples();
  deltas = 0;
  readonly store: Store;

  constructor(store: Store) {
    const { kind, reads, leases, work, requests, register, search, audit } = store;
    this.store = {
      kind,
      reads,
      leases,
      work,
      requests,
      register,
      search,
      audit,
      commit: (commit) => this.#commit(store, commit),
      putBlob: (...args) => store.putBlob(...args),
      purge: (...args) => store.purge(...args),
      prune: (limit) => store.prune(limit),
      watch: (...args) => store.watch(...args),
      now: () => store.now(),
      close: () => store.close(),
    };
  }

  reset(): void {
    this.times = new Samples();
    this.deltas = 0;
  }

  async #commit(store: Store, commit: Commit): Promise<CommitResult> {
    const deltas = commit.events.filter(({ type }) => type === "message.delta").length;
    if (deltas === 0) return store.commit(commit);
    const startedAt = performance.now();
    const result = await store.commit(commit);
    this.times.add(performance.now() - startedAt);
    this.deltas += deltas;
    return result;
  }
}

/** CPU and event loop delay of this process over some time. */
export class ProcessMeter {
  readonly #loop = new LoopDelay();
  #cpu = process.cpuUsage();
  #startedAt = performance.now();

  start(): void {
    this.#cpu = process.cpuUsage();
    this.#startedAt = performance.now();
    this.#loop.start();
  }

  stop(): { ms: number; cpuPercent: number; loop: Summary } {
    const ms = performance.now() - this.#startedAt;
    const { user, system } = process.cpuUsage(this.#cpu);
    this.#loop.stop();
    const at = (percent: number) => this.#loop.percentile(percent);
    return {
      ms,
      cpuPercent: (user + system) / 10 / ms,
      loop: { count: this.#loop.count, p50: at(50), p99: at(99), max: at(100) },
    };
  }
}
