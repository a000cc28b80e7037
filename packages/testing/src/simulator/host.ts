import type { IdSource } from "@holdfast/protocol";

import {
  createLog,
  type Log,
  type Clock,
  type Holder,
  type SpillStore,
  StoreFailure,
  Runner,
} from "@holdfast/engine";
import { uncachedAgents } from "../fakes/uncached-agents.ts";
import { aHolder } from "../fixtures/factories.ts";
import { simSpills } from "./disk.ts";
import { faultyStore } from "./faulty-store.ts";
import { randomModel, randomTools } from "./model-and-tools.ts";
import { recordedStore } from "./record.ts";
import type { Actor } from "./scheduler.ts";
import type { SimWorld } from "./world.ts";

/** The answer of a host that is gone. */
export const hostGone = Symbol("gone");

/** One life of a host process: its store handle, its log, its runner and its clock. A crash ends all of it at once. */
export class SimHost implements Actor {
  readonly name: string;
  readonly log: Log;
  readonly runner: Runner;
  readonly ids: IdSource;
  readonly clock: Clock;
  pausedUntil = 0;
  readonly #world: SimWorld;
  readonly #callers = new Set<() => void>();
  #alive = true;
  #leaseHolders = 0;

  constructor(world: SimWorld, slot: number, life: number) {
    const { scheduler, profile, record } = world;
    this.#world = world;
    this.name = `host ${slot}.${life}`;
    this.clock = hostClock(world, this, scheduler.chance.between(0, 1_000_000));
    this.ids = world.makeIds();
    const recorded = recordedStore(world.plant(world.openStore()), {
      record,
      host: this.name,
      step: () => scheduler.steps,
    });
    const store = faultyStore(recorded, this, world);
    const random = () => scheduler.chance.next();
    this.log = createLog(store, { clock: this.clock, random, ids: this.ids });
    this.runner = new Runner({
      log: this.log,
      ids: this.ids,
      clock: this.clock,
      random,
      work: store.work,
      holder: this.holder,
      liveness: { isDead: (holder) => world.isDead(holder) },
      leaseMs: profile.leaseMs,
      sweepMs: profile.leaseMs / 3,
      policy: profile.policy,
      maxRuns: 8,
      limits: { steps: 6, timeMs: 60_000, modelTries: 3 },
      agents: uncachedAgents({
        tools: new Map(randomTools(world, this).map((tool) => [tool.name, tool])),
        modelFor: async () => ({
          name: "simulated",
          model: randomModel(world, this),
          fallbacks: [{ name: "stand-in", model: randomModel(world, this) }],
        }),
        system: async () => "You are being simulated.",
      }),
      spills: spillsOf(world, this, slot),
      onError: (error) => this.#onError(error),
    });
    this.runner.start();
  }

  /** A new one for each call, as in a real host: whoever acquires again as the same holder gets the old fence back. */
  readonly holder = (): Holder => {
    this.#leaseHolders += 1;
    return aHolder({ nonce: `${this.name}/${this.#leaseHolders}`, processStart: this.name });
  };

  get alive(): boolean {
    return this.#alive;
  }

  /** Everything in memory is gone. What was already sent may still arrive. */
  crash(): void {
    const { scheduler } = this.#world;
    this.#alive = false;
    scheduler.drop(({ actor }) => {
      if (actor === this) return true;
      return "sender" in actor && actor.sender === this && scheduler.chance.happens(0.5);
    });
    for (const hangUp of this.#callers) hangUp();
  }

  /** A client asks this host for something, and gets the answer or learns that the host is gone. */
  ask<T>(work: () => Promise<T>): Promise<T | typeof hostGone> {
    if (!this.#alive) return Promise.resolve(hostGone);
    return new Promise((resolve, reject) => {
      const hangUp = (): void => resolve(hostGone);
      this.#callers.add(hangUp);
      work()
        .finally(() => this.#callers.delete(hangUp))
        .then(resolve, reject);
    });
  }

  /** An unreachable store is not a bug. Everything else that gets here is one. */
  #onError(error: unknown): void {
    if (error instanceof StoreFailure) return;
    const text = error instanceof Error ? (error.stack ?? error.message) : String(error);
    this.#world.record.noticed.push({ promise: "bug", text: `${this.name}: ${text}` });
  }
}

function spillsOf(world: SimWorld, host: SimHost, slot: number): SpillStore | undefined {
  const disk = world.disks[slot];
  if (!world.profile.spills || disk === undefined) return undefined;
  return world.plantJournals(simSpills(world, host, disk));
}

/** Monotonic, with its own starting point. It continues while the host is paused. */
function hostClock({ scheduler }: SimWorld, host: SimHost, start: number): Clock {
  return {
    now: () => start + scheduler.now,
    sleep: (ms, signal) =>
      new Promise((resolve) => {
        if (signal?.aborted) return resolve();
        const pending = scheduler.after(ms, host, "wakes up", () => {
          signal?.removeEventListener("abort", onAbort);
          resolve();
        });
        const onAbort = (): void => {
          scheduler.cancel(pending);
          resolve();
        };
        signal?.addEventListener("abort", onAbort, { once: true });
      }),
  };
}
