import type { EventId, OwnerId, SessionId, StoredEvent } from "@holdfast/protocol";

import type { LeaseRow } from "../ports/rows.ts";
import type { Liveness } from "../ports/lease.ts";
import type { PlacementRefusal, RunPlacement } from "../ports/placement.ts";
import type { SpillStore } from "../ports/spill.ts";
import type { Work } from "../ports/work.ts";
import { AbandonedLeases } from "../recovery/abandoned-leases.ts";
import { expireApproval } from "./answer-approval.ts";
import { type ClaimDeps, claimNext, acquireRunLease } from "./claim.ts";
import { type DriveDeps, driveRun, refuseRun, type RunPosition } from "./drive.ts";
import {
  findDueNotices,
  ingestLateJournal,
  type LateJournal,
  groupByDecider,
  readLateJournals,
  readAbandonedSpill,
} from "../recovery/late-journal.ts";
import { JournalReader } from "../recovery/journal-reader.ts";
import { type HeldLease, LeaseRenewer } from "./lease-renewer.ts";
import { recordEmptySpill } from "../recovery/spill.ts";
import { stateSpills } from "../recovery/spill-statement.ts";
import { giveUpRun, takeOverRun, type ResumePolicy } from "../recovery/take-over.ts";
import type { RunHandle } from "./run-handle.ts";
import { borrowAgent, type RunAgents, type StepDeps } from "./call-model.ts";
import { Tick } from "./journal.ts";

export interface RunnerDeps
  extends ClaimDeps, Omit<DriveDeps, "tick" | "raiseFence" | keyof StepDeps> {
  readonly agents: RunAgents;
  readonly work: Work;
  readonly liveness: Liveness;
  readonly placement?: RunPlacement;
  readonly policy: ResumePolicy;
  /** How often the store is scanned for work that no notification announced. */
  readonly sweepMs: number;
  /** How many runs may be live in this process. */
  readonly maxRuns: number;
  /** Called when a run has ended here, for background work that follows it. */
  readonly onEnded?: (owner: OwnerId, session: SessionId) => void;
  /** Receives bugs: a bug stops the run, not the host. */
  readonly onError: (error: unknown) => void;
}

/** What is already known of a session that may have work. */
interface FoundWork {
  readonly deadLease?: LeaseRow | undefined;
  readonly hasLiveRun?: boolean;
  /** Other hosts have not been told of it. */
  readonly isNews?: boolean;
}

/** Where journals outside the store are found, and how they are read. */
interface LateFiles {
  readonly spills: SpillStore;
  readonly journals: JournalReader;
}

interface LateSearch<Found> {
  /** What to read, found without reading it. */
  prepare(): Promise<readonly Found[]>;
  read(found: readonly Found[], onRead: () => Promise<unknown>): Promise<readonly LateJournal[]>;
}

const pageSize = 1_000;
/** A cancel is noticed within twice this time. */
const cancelPollMs = 400;
const initialPosition: RunPosition = {
  step: 0,
  tries: 0,
  isFallbackPending: false,
  usedMs: 0,
  journal: [],
};

/**
 * Works on sessions: claims queued messages, takes over abandoned runs and drives each run to its end. Any number of
 * runners may share a store; the lease decides who works on what.
 */
export class Runner {
  readonly #deps: RunnerDeps;
  readonly #leaseRenewer: LeaseRenewer;
  readonly #tick: Tick;
  readonly #stop = new AbortController();
  readonly #loops: Promise<void>[] = [];
  readonly #working = new Map<SessionId, Promise<void>>();
  /** Sessions that were notified while they were being worked on, with `isNews`; they are checked again afterwards. */
  readonly #recheck = new Map<SessionId, boolean>();
  readonly #abandoned: AbandonedLeases;

  readonly #late: LateFiles | null;
  #sweepingSpills: Promise<void> | undefined;
  #stopWatching: (() => void) | undefined;
  /** At the start, and after a run was lost here, hosts with other homes may be waiting for a spill of ours. */
  #isStatementDue = true;
  /** Spills the store refuses as they are; they stay for a person to inspect. */
  readonly #refusedSpills = new Set<EventId>();

  constructor(deps: RunnerDeps) {
    this.#deps = deps;
    this.#leaseRenewer = new LeaseRenewer(deps.log.store.leases, deps.clock, deps.leaseMs);
    this.#tick = new Tick(deps.clock);
    this.#abandoned = new AbandonedLeases(deps);
    const { spills, clock } = deps;
    this.#late = spills ? { spills, journals: new JournalReader({ spills, clock }) } : null;
  }

  /** Starts scanning for work and for cancels from other processes. */
  start(): void {
    this.#stopWatching = this.#deps.log.store.watchWork?.((item) => {
      if (item !== null) this.#notify(item.owner, item.session, {});
      else void this.sweep().catch((error: unknown) => this.#deps.onError(error));
    });
    this.#loops.push(this.#every(this.#deps.sweepMs, () => this.sweep()));
    this.#loops.push(this.#every(cancelPollMs, () => this.#pollCancels()));
  }

  /** Announces that a session may have work, or that its run was asked to end. Never throws, never waits. */
  notify(owner: OwnerId, session: SessionId): void {
    this.#notify(owner, session, { isNews: true });
  }

  #notify(owner: OwnerId, session: SessionId, found: FoundWork): void {
    for (const { lease, run } of this.#leaseRenewer.held)
      if (lease.session === session) void run?.checkCancelled();
    void this.#runExclusive(
      owner,
      session,
      () => this.#workOn(owner, session, found),
      found.isNews,
    );
  }

  /**
   * Ingests what these entries mark as still being recovered, if it has turned up. `changed`: read again. While an
   * ingest is under way, here or elsewhere, other callers return at once; a slow disk delays nobody for long.
   */
  async recoverLateJournals(
    owner: OwnerId,
    session: SessionId,
    entries: Iterable<StoredEvent>,
  ): Promise<"changed" | "unchanged"> {
    let outcome: "changed" | "unchanged" = "unchanged";
    for (const [decider, notices] of await groupByDecider(this.#deps, owner, session, entries))
      if ((await this.#recoverIn(owner, decider, notices)) === "changed") outcome = "changed";
    return outcome;
  }

  async #recoverIn(
    owner: OwnerId,
    session: SessionId,
    entries: Iterable<StoredEvent>,
  ): Promise<"changed" | "unchanged"> {
    const late = this.#late;
    if (late === null || this.#working.has(session)) return "unchanged";
    const { spills, journals } = late;
    const outcome = await this.#ingest(owner, session, {
      prepare: () => findDueNotices({ ...this.#deps, spills }, journals, session, entries),
      read: (due, onRead) => readLateJournals(journals, session, { due, seen: entries }, onRead),
    });
    return outcome === "changed" ? "changed" : "unchanged";
  }

  /** Spill files in this home that nobody writes: left by a dead process, or copied here. */
  async #ingestAbandonedSpills({ spills, journals }: LateFiles): Promise<void> {
    for (const header of await spills.left()) {
      const { owner, session, runId, ingestId } = header;
      if (this.#working.has(session) || this.#refusedSpills.has(ingestId)) continue;
      const run = await this.#deps.log.store.reads.run(owner, runId);
      // A live run is recovered together with everything it left, or ends first.
      if (run === null || ["claimed", "running"].includes(run.state)) continue;
      const outcome = await this.#ingest(owner, session, {
        prepare: async () => ((await journals.isReady(header)) ? [header] : []),
        read: (_headers, onRead) =>
          readAbandonedSpill({ ...this.#deps, spills }, journals, header, onRead),
      });
      if (outcome === "refused") this.#refusedSpills.add(ingestId);
    }
    await this.#stateSpills(spills);
  }

  async #stateSpills(spills: SpillStore): Promise<void> {
    if (!this.#isStatementDue) return;
    this.#isStatementDue = false;
    const isStated = await stateSpills(this.#deps.log.store, spills).catch(() => false);
    if (!isStated) this.#isStatementDue = true;
  }

  /**
   * S4.3: a journal is claimed before it is read. Runs under the session's lease, and only if that is free: otherwise
   * its holder, or the next reader, takes care of the journal.
   */
  async #ingest<Found>(
    owner: OwnerId,
    session: SessionId,
    search: LateSearch<Found>,
  ): Promise<"changed" | "unchanged" | "refused"> {
    const late = this.#late;
    if (late === null) return "unchanged";
    const deps = { ...this.#deps, spills: late.spills };
    let outcome: "changed" | "unchanged" | "refused" = "unchanged";
    await this.#runExclusive(owner, session, async () => {
      const found = await search.prepare();
      const lease = found.length === 0 ? null : await acquireRunLease(this.#deps, session);
      if (lease === null) return;
      try {
        const again = () => this.#ingest(owner, session, search);
        for (const work of await search.read(found, again)) {
          const result = await ingestLateJournal(deps, owner, lease, work);
          if (result?.status === "refused") outcome = "refused";
          else if (result !== null && outcome === "unchanged") outcome = "changed";
        }
      } finally {
        await this.#deps.log.store.leases.release(lease);
      }
    });
    return outcome;
  }

  /** Scans the store once for queued and abandoned work. */
  async sweep(): Promise<void> {
    const { work } = this.#deps;
    const live = await work.live(pageSize);
    this.#abandoned.keepOnly(live);
    for (const item of live) {
      const { owner, session, lease } = item;
      if (this.#working.has(session) || !this.#abandoned.has(item)) continue;
      const found = { deadLease: this.#abandoned.ifHolderDead(lease), hasLiveRun: true };
      void this.#runExclusive(owner, session, () => this.#workOn(owner, session, found));
    }
    for (const { owner, session } of await work.queued(pageSize)) {
      if (this.#working.has(session)) continue;
      const lease = await this.#deps.log.store.leases.read("run", session);
      const found = { deadLease: this.#abandoned.ifHolderDead(lease) };
      void this.#runExclusive(owner, session, () => this.#workOn(owner, session, found));
    }
    await this.#sweepSpills();
    await this.#expireApprovals();
    this.#deps.agents.evictIfNeeded();
  }

  /** Stops waiting after a while, so that a slow disk does not hold up the runner's other work. */
  async #sweepSpills(): Promise<void> {
    const late = this.#late;
    if (late === null) return;
    this.#sweepingSpills ??= this.#ingestAbandonedSpills(late).finally(
      () => (this.#sweepingSpills = undefined),
    );
    await late.journals.inTime(this.#sweepingSpills);
  }

  /** An approval nobody answered in time counts as a no and wakes its run. */
  async #expireApprovals(): Promise<void> {
    const { work, log, ids } = this.#deps;
    for (const { owner, session, approval } of await work.expiredApprovals(pageSize)) {
      await expireApproval(log, ids, owner, approval);
      this.notify(owner, session);
    }
  }

  /** Resolves when no work is under way here. */
  async idle(): Promise<void> {
    while (this.#working.size > 0) await Promise.all(this.#working.values());
  }

  /** Gives up every run, so that another runner can continue it at once. */
  async stop(): Promise<void> {
    this.#stop.abort();
    this.#stopWatching?.();
    for (const held of this.#leaseRenewer.held) held.lose("stopping");
    await Promise.all(this.#loops);
    await this.idle();
    await this.#deps.agents.close();
  }

  /** P6: only for runs that are not writing; the others learn of a cancel from the result of their commit. */
  async #pollCancels(): Promise<void> {
    for (const held of this.#leaseRenewer.held)
      if (held.hasWrittenNothing()) await held.run?.checkCancelled();
  }

  /** One task at a time per session; a call meanwhile makes the session be checked once more. */
  #runExclusive(
    owner: OwnerId,
    session: SessionId,
    task: () => Promise<void>,
    isNews = false,
  ): Promise<void> {
    const idle = Promise.resolve();
    if (this.#stop.signal.aborted || this.#working.size >= this.#deps.maxRuns) return idle;
    if (this.#working.has(session)) {
      // What another host has told must not become news: hosts would tell each other for ever.
      this.#recheck.set(session, isNews || this.#recheck.get(session) === true);
      return idle;
    }
    const work = task()
      .catch((error: unknown) => this.#deps.onError(error))
      .finally(() => {
        this.#working.delete(session);
        const again = this.#recheck.get(session);
        this.#recheck.delete(session);
        if (again !== undefined) this.#notify(owner, session, { isNews: again });
      });
    this.#working.set(session, work);
    return work;
  }

  async #workOn(
    owner: OwnerId,
    session: SessionId,
    { deadLease, hasLiveRun = false, isNews = false }: FoundWork,
  ): Promise<void> {
    const { placement, log } = this.#deps;
    if ((await placement?.check(owner, session)) === "elsewhere") {
      if (isNews) log.store.signalWork?.({ owner, session });
      return;
    }
    const askedAt = this.#deps.clock.now();
    const lease = await acquireRunLease(this.#deps, session, deadLease);
    if (lease === null) return;
    this.#abandoned.forget(session);
    const held = this.#leaseRenewer.hold(lease, askedAt);
    try {
      await this.#recoverAndClaim(owner, held, hasLiveRun);
    } finally {
      await this.#leaseRenewer.release(held);
    }
  }

  /**
   * Claims message after message. A run that was left live is recovered first; if it is known to be live, its journal,
   * which may be long, is read only for that.
   */
  async #recoverAndClaim(owner: OwnerId, held: HeldLease, hasLiveRun: boolean): Promise<void> {
    let isKnownLive = hasLiveRun;
    let hasTakenOver = false;
    // Before a message is claimed: what is attached to it goes among the files.
    const refusal = await this.#deps.placement?.prepare(owner, held.lease.session);
    while (!this.#stop.signal.aborted && !held.lost) {
      const claimed = isKnownLive ? "run_live" : await claimNext(this.#deps, owner, held.lease);
      isKnownLive = false;
      if (claimed === "nothing" || (claimed === "run_live" && hasTakenOver)) return;
      if (claimed !== "run_live") {
        await this.#drive(held, claimed, initialPosition, refusal);
        continue;
      }
      hasTakenOver = true;
      const recovered = await takeOverRun(this.#deps, owner, held.lease);
      if (recovered !== null) await this.#drive(held, recovered.run, recovered.position, refusal);
    }
  }

  async #drive(
    held: HeldLease,
    run: RunHandle,
    position: RunPosition,
    refusal: PlacementRefusal | null = null,
  ): Promise<void> {
    held.run = run;
    if (held.lost) run.lose("fenced");
    if (this.#stop.signal.aborted) run.lose("stopping");
    await (refusal
      ? refuseRun(this.#deps, run, refusal)
      : this.#driveWithAgent(held, run, position));
    held.run = null;
    if (run.lost === "stopping") await recordEmptySpill(this.#deps, run);
    else if (run.lost !== "ended" && run.lost !== "rests") this.#isStatementDue = true;
    if (run.refusal !== null) {
      await giveUpRun(this.#deps, run.owner, held.lease, run.refusal.code);
      return;
    }
    // A run that we could not end has to be taken over; the messages queued after it wait for that.
    if (run.lost !== "ended") held.lose(run.lost ?? "fenced");
  }

  async #driveWithAgent(held: HeldLease, run: RunHandle, position: RunPosition): Promise<void> {
    const raiseFence = () => this.#leaseRenewer.raiseFence(held, this.#deps.holder());
    const deps = { ...this.#deps, tick: this.#tick, raiseFence };
    const borrowed = await borrowAgent(deps.agents, run);
    try {
      await driveRun({ ...deps, ...borrowed.stepDeps }, run, position, borrowed.cachedContext);
      // Must precede the release: that may evict the agent, and eviction commits through the handle registered here.
      if (run.lost === "ended") deps.onEnded?.(run.owner, run.session);
    } finally {
      borrowed.release();
    }
  }

  async #every(ms: number, action: () => Promise<void>): Promise<void> {
    const { clock, onError } = this.#deps;
    while (!this.#stop.signal.aborted) {
      await action().catch((error: unknown) => onError(error));
      await clock.sleep(ms, this.#stop.signal);
    }
  }
}
