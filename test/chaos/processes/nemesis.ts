import { setTimeout as rest } from "node:timers/promises";

import type { ProcessEndpoint } from "./endpoints.ts";
import type { History } from "./history.ts";
import type { ManagedProcess } from "./managed-process.ts";
import type { StoreUnderTest } from "./store-under-test.ts";
import { leaseMs, exitTimeoutMs } from "./protocol.ts";
import type { SeededRandom } from "@holdfast/testing/simulator/scheduler";

export interface NemesisOptions {
  readonly kills: number;
  readonly chance: SeededRandom;
  readonly members: readonly ProcessEndpoint[];
  readonly place: StoreUnderTest;
  readonly history: History;
  readonly print: (line: string) => void;
}

const maxWaitMs = 10_000;
/** A lease, half of it again by the clock of the process that takes over, and some time to do so. */
const longStopMs = leaseMs * 2.5;

/** Harms processes and their store, one fault after another, until enough have died. */
export class Nemesis {
  readonly #options: NemesisOptions;
  /** Restarts and continuations that are still to come. */
  readonly #delayed = new Set<Promise<void>>();
  #kills = 0;
  /** How many store faults are active or have just ended. */
  #troubles = 0;

  constructor(options: NemesisOptions) {
    this.#options = options;
  }

  get isTroubled(): boolean {
    return this.#troubles > 0;
  }

  async inject(): Promise<void> {
    const { kills, members, print } = this.#options;
    // Each kind of fault happens early on, so that even a short run has them all.
    const first = [
      () => this.#stop(longStopMs),
      ...this.#options.place.faults.map((_, n) => () => this.#harmStore(n)),
    ];
    while (this.#kills < kills) {
      const before = this.#kills;
      await this.#waitForWork();
      const due = this.#kills > 0 ? first.shift() : undefined;
      await (due === undefined ? this.#harm() : due());
      if (Math.floor(before / 20) !== Math.floor(this.#kills / 20))
        print(`${this.#kills} of ${kills} kills`);
    }
    for (const harm of first) {
      await this.#waitForWork();
      await harm();
    }
    await Promise.all(this.#delayed);
    for (const { member } of members) member.start();
  }

  /** Faults in an idle system show nothing: waits for some acknowledgements, but not forever. */
  async #waitForWork(): Promise<void> {
    const { chance, history } = this.#options;
    const enough = history.acknowledged + chance.between(1, 6);
    for (let left = maxWaitMs; left > 0 && history.acknowledged < enough; left -= 10)
      await rest(10);
  }

  async #harm(): Promise<void> {
    const { chance, members, place: slot } = this.#options;
    const dice = chance.next();
    if (dice < 0.16) return this.#stop(chance.pick([300, longStopMs, longStopMs]));
    if (dice < 0.19) return this.#leave();
    if (dice < 0.28 && slot.faults.length > 0)
      return this.#harmStore(chance.between(0, slot.faults.length - 1));
    if (dice < 0.32) return this.#killAll();
    const victim = chance.pick(members);
    // Sometimes a process dies while it is still starting.
    if (dice > 0.44) await victim.member.ready;
    await rest(chance.between(0, 200));
    await this.#kill(victim);
  }

  async #kill({ member }: ProcessEndpoint): Promise<void> {
    if (await member.kill()) this.#kills += 1;
    this.#startLate(member);
  }

  /** At once, or after the others have had the time to notice. */
  #startLate(member: ManagedProcess): void {
    this.#later(this.#startIn(member, this.#options.chance.pick([0, 0, 0, 300, 2_500])));
  }

  #later(work: Promise<void>): void {
    this.#delayed.add(work);
    void work.finally(() => this.#delayed.delete(work));
  }

  async #startIn(member: ManagedProcess, ms: number): Promise<void> {
    await rest(ms);
    member.start();
  }

  async #killAll(): Promise<void> {
    const { members, history } = this.#options;
    history.note({ kind: "fault", what: "kill all", whom: "everyone" });
    await Promise.all(members.map((victim) => this.#kill(victim)));
  }

  /** Sometimes for longer than a lease: then another process takes over, and this one wakes up late. */
  async #stop(ms: number): Promise<void> {
    const { chance, history, members } = this.#options;
    // Prefers the process that is about to write: it must not, later on.
    const busy = members.find(({ name }) => history.busiest?.startsWith(`${name}.`));
    const victim = chance.next() < 0.7 ? (busy ?? chance.pick(members)) : chance.pick(members);
    await victim.member.ready;
    const stopped = async (): Promise<void> => void (await victim.member.stop(ms));
    this.#later(stopped());
  }

  async #leave(): Promise<void> {
    const { member } = this.#options.chance.pick(this.#options.members);
    await member.ready;
    await member.leave(exitTimeoutMs);
    this.#startLate(member);
  }

  async #harmStore(index: number): Promise<void> {
    const { place: slot, members, history, chance } = this.#options;
    const fault = slot.faults[index];
    if (fault === undefined) return;
    this.#troubles += 1;
    for (const { member } of members) member.trouble();
    history.note({ kind: "fault", what: fault.name, whom: "the store" });
    await fault.inject(chance.between(100, 2_000));
    history.note({ kind: "fault", what: "healed", whom: fault.name });
    // A process that was starting meanwhile may notice only now.
    setTimeout(() => (this.#troubles -= 1), 1_000);
  }
}
