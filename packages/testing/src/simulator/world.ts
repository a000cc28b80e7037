import {
  createIds,
  type IdSource,
  type OwnerId,
  type RunId,
  type SessionId,
} from "@holdfast/protocol";

import type { FailureCode, Holder, SpillStore, Store } from "@holdfast/engine";
import type { SimProfile } from "./profile.ts";
import type { SimRecord } from "./record.ts";
import type { Scheduler } from "./scheduler.ts";
import { SimDisk } from "./disk.ts";
import { SimHost } from "./host.ts";

/** A store on a given clock, and more handles on the same data. */
export type OpenSimStore = (clock: () => number) => () => Store;

/** A store that misbehaves on purpose; the identity function in an honest run. */
export type PlantStoreBug = (store: Store) => Store;

export type PlantSpillBug = (journals: SpillStore) => SpillStore;

const bootTime = Date.UTC(2026, 0, 1);

/** Everything that one simulation shares, and the state of its faults. */
export class SimWorld {
  readonly scheduler: Scheduler;
  readonly profile: SimProfile;
  readonly record: SimRecord;
  readonly plant: PlantStoreBug;
  readonly plantJournals: PlantSpillBug;
  readonly openStore: () => Store;
  /** The hosts by slot; `null` while one is down. */
  readonly hosts: (SimHost | null)[] = [];
  /** By the same slots. */
  readonly disks: SimDisk[] = [];
  /** In the order in which clients learned of them. */
  readonly sessions: SessionId[] = [];
  readonly runs: RunId[] = [];
  /** Whether faults happen. */
  faultsEnabled = true;
  #clockOffset = 0;
  #outage: { until: number; code: FailureCode; host: SimHost | null } | null = null;
  #lives = 0;

  constructor(
    parts: Pick<SimWorld, "scheduler" | "profile" | "record" | "plant" | "plantJournals">,
    openStore: OpenSimStore,
  ) {
    this.scheduler = parts.scheduler;
    this.profile = parts.profile;
    this.record = parts.record;
    this.plant = parts.plant;
    this.plantJournals = parts.plantJournals;
    this.openStore = openStore(() => this.storeTime());
  }

  get owner(): OwnerId {
    return this.record.owner;
  }

  storeTime(): number {
    return bootTime + this.scheduler.now + this.#clockOffset;
  }

  /** Ids from the seed. */
  makeIds(): IdSource {
    return createIds(() => this.storeTime(), {
      nextUint32: () => Math.floor(this.scheduler.chance.next() * 4_294_967_296),
    });
  }

  /** A bounded jump, forward or back, of the clock of leases and events. */
  jumpClock(ms: number): void {
    this.#clockOffset = Math.max(-60_000, Math.min(60_000, this.#clockOffset + ms));
  }

  breakStore(ms: number, code: FailureCode, host: SimHost | null): void {
    this.#outage = { until: this.scheduler.now + ms, code, host };
  }

  start(slot: number): SimHost {
    this.#lives += 1;
    this.disks[slot] ??= new SimDisk(`home ${slot}`);
    const host = new SimHost(this, slot, this.#lives);
    this.hosts[slot] = host;
    this.scheduler.note(host, "starts");
    return host;
  }

  crash(host: SimHost): void {
    this.scheduler.note(host, "CRASHES");
    host.crash();
    this.hosts[this.hosts.indexOf(host)] = null;
  }

  /** Faults end: paused hosts continue, and whatever was broken works again. */
  stopFaults(): void {
    this.faultsEnabled = false;
    this.#outage = null;
    for (const [slot, host] of this.hosts.entries()) {
      if (host === null) this.start(slot);
      else host.pausedUntil = Math.min(host.pausedUntil, this.scheduler.now);
    }
  }

  aHost(): SimHost | null {
    const up = this.hosts.filter((host) => host !== null);
    return up.length === 0 ? null : this.scheduler.chance.pick(up);
  }

  /** A real death can sometimes be proven; a false one never. */
  isDead(holder: Holder): "dead" | "alive" | "unknown" {
    const isUp = this.hosts.some((host) => host?.name === holder.processStart);
    if (!this.scheduler.chance.happens(this.profile.proof)) return "unknown";
    return isUp ? "alive" : "dead";
  }

  latency(): number {
    const { chance } = this.scheduler;
    if (this.faultsEnabled && chance.happens(this.profile.slow))
      return chance.between(0, this.profile.leaseMs * 2);
    return chance.happens(0.8) ? chance.between(0, 3) : chance.between(0, 80);
  }

  /** How a call that arrives now fails, if it does. */
  failureOf(host: SimHost): FailureCode | null {
    const { chance, now } = this.scheduler;
    const outage = this.#outage;
    if (outage !== null && now < outage.until && (outage.host ?? host) === host) return outage.code;
    if (!this.faultsEnabled) return null;
    if (chance.happens(this.profile.unknown)) return "store_unknown";
    if (!chance.happens(this.profile.failing)) return null;
    return chance.pick(["store_busy", "store_full", "store_unavailable"]);
  }

  /** A session's name in the trace. */
  nameOf(session: SessionId): string {
    const place = this.sessions.indexOf(session);
    return place < 0 ? session.slice(-6) : `s${place}`;
  }
}
