import type { EventId, OwnerId, SessionId, StoredEvent } from "@holdfast/protocol";

import type { LeaseRow } from "../ports/rows.ts";
import type { Liveness } from "../ports/lease.ts";
import type { LiveWork, Work } from "../ports/work.ts";
import { expireApproval } from "./approvals.ts";
import { type ClaimDeps, claimNext, acquireRunLease } from "./claim.ts";
import { type DriveDeps, driveRun, type RunPosition } from "./drive.ts";
import {
  ingestLateJournal,
  type LateJournal,
  inspectSpill,
  findLateJournals,
} from "../recovery/late-journal.ts";
import { type HeldLease, LeaseRenewer } from "./lease-renewer.ts";
import { giveUpRun, takeOverRun, type ResumePolicy } from "../recovery/take-over.ts";
import type { RunHandle } from "./run-handle.ts";
import { type StepDeps, type RunAgentCache, borrowAgent } from "./prepare-step.ts";
import { Tick } from "./journal.ts";

interface CommonRunnerDeps
  extends ClaimDeps, Omit<DriveDeps, "tick" | "raiseFence" | keyof StepDeps> {
  readonly work: Work;
  readonly liveness: Liveness;
  readonly policy: ResumePolicy;
  /** How often the store is looked through for work that nobody told us about. */
  readonly sweepMs: number;
  /** How many runs may be under way in this process. */
  readonly maxRuns: number;
  /** Told when a run has ended here, for what follows in the background. */
  readonly onEnded?: (owner: OwnerId, session: SessionId) => void;
  /** A bug in a run stops the run, not the host; this is where it is told. */
  readonly onError: (error: unknown) => void;
}

/** Runs are set up from warm agents, or each from the same parts. */
export type RunnerDeps = CommonRunnerDeps & (StepDeps | { readonly agents: RunAgentCache });

const pageSize = 1_000;
/** A cancel is noticed within twice this time. */
const cancelPollMs = 400;
const initialPosition: RunPosition = {
  step: 0,
  tries: 0,
  isPassedOn: false,
  usedMs: 0,
  journal: [],
};

/**
 * Works on sessions: claims what waits, takes over what was left behind, drives each run to its end. Any number of
 * runners may share a store; the lease decides who works on what.
 */
export class Runner {
  readonly #deps: RunnerDeps;
  readonly #keeper: LeaseRenewer;
  readonly #tick: Tick;
  readonly #stop = new AbortController();
  readonly #loops: Promise<void>[] = [];
  readonly #working = new Map<SessionId, Promise<void>>();
  /** Sessions that were poked while they were worked on: looked at again afterwards. */
  readonly #again = new Set<SessionId>();
  /** When a lease that has expired was first seen with that expiry, by our own clock. */
  readonly #expired = new Map<SessionId, { readonly expiresAt: number; readonly seenAt: number }>();

  /** Spills that the store does not take as they are: they stay for a person to look at. */
  readonly #refused = new Set<EventId>();

  constructor(deps: RunnerDeps) {
    this.#deps = deps;
    this.#keeper = new LeaseRenewer(deps.log.store.leases, deps.clock, deps.leaseMs);
    this.#tick = new Tick(deps.clock);
  }

  /** Begins to look for work by itself, and to notice cancels from elsewhere. */
  start(): void {
    this.#loops.push(this.#every(this.#deps.sweepMs, () => this.sweep()));
    this.#loops.push(this.#every(cancelPollMs, () => this.#lookForCancels()));
  }

  /** Says that a session may have work, or that its run was asked to end. Never throws, never waits. */
  notify(owner: OwnerId, session: SessionId): void {
    for (const { lease, run } of this.#keeper.held)
      if (lease.session === session) void run?.checkCancelled();
    void this.#begin(owner, session, () => this.#workOn(owner, session, undefined));
  }

  /**
   * Brings in what these entries say is still being recovered, if it has turned up. `changed`: read again. Whoever asks
   * while it is being done, here or elsewhere, is answered at once.
   */
  async recoverLateJournals(
    owner: OwnerId,
    session: SessionId,
    entries: Iterable<StoredEvent>,
  ): Promise<"changed" | "unchanged"> {
    const { spills: journals } = this.#deps;
    if (journals === undefined || this.#working.has(session)) return "unchanged";
    const works = await findLateJournals({ ...this.#deps, spills: journals }, session, entries);
    if (works.length === 0 || this.#working.has(session)) return "unchanged";
    return (await this.#bringIn(owner, session, works)) === "changed" ? "changed" : "unchanged";
  }

  /** Files that lie in this home and that nobody writes: left by a process that is gone, or carried here. */
  async #bringInFiles(): Promise<void> {
    const { spills: journals, log } = this.#deps;
    if (journals === undefined) return;
    for (const header of await journals.left()) {
      const { owner, session, runId, ingestId } = header;
      if (this.#working.has(session) || this.#refused.has(ingestId)) continue;
      const run = await log.store.reads.run(owner, runId);
      // A run that is under way is recovered with all that it left, or ends first.
      const isNobodys = run !== null && !["claimed", "running"].includes(run.state);
      const work = isNobodys
        ? await inspectSpill({ ...this.#deps, spills: journals }, header)
        : null;
      if (work === null) continue;
      const done = await this.#bringIn(owner, session, [work]);
      if (done === "refused") this.#refused.add(ingestId);
    }
  }

  /** Under the session's lease, and only if nobody has it: then they look after it, or the next one who reads does. */
  async #bringIn(
    owner: OwnerId,
    session: SessionId,
    works: readonly LateJournal[],
  ): Promise<"changed" | "unchanged" | "refused"> {
    const { spills: journals } = this.#deps;
    if (journals === undefined) return "unchanged";
    let done: "changed" | "unchanged" | "refused" = "unchanged";
    const begun = this.#begin(owner, session, async () => {
      const lease = await acquireRunLease(this.#deps, session);
      if (lease === null) return;
      try {
        for (const work of works) {
          const result = await ingestLateJournal(
            { ...this.#deps, spills: journals },
            owner,
            lease,
            work,
          );
          if (result?.status === "refused") done = "refused";
          else if (result !== null && done === "unchanged") done = "changed";
        }
      } finally {
        await this.#deps.log.store.leases.release(lease);
      }
    });
    await begun;
    return done;
  }

  /** One look through the store: what waits, and what was left behind. */
  async sweep(): Promise<void> {
    const { work } = this.#deps;
    const live = await work.live(pageSize);
    this.#forgetOthers(live);
    for (const item of live) {
      const { owner, session, lease } = item;
      if (!this.#isLeftBehind(item)) continue;
      void this.#begin(owner, session, () => this.#workOn(owner, session, this.#provenDead(lease)));
    }
    for (const { owner, session } of await work.queued(pageSize)) {
      if (this.#working.has(session)) continue;
      const lease = await this.#deps.log.store.leases.read("run", session);
      void this.#begin(owner, session, () => this.#workOn(owner, session, this.#provenDead(lease)));
    }
    await this.#bringInFiles();
    await this.#expireApprovals();
    if ("agents" in this.#deps) this.#deps.agents.evictIfNeeded();
  }

  /** What nobody answered in time is a no, and wakes its run. */
  async #expireApprovals(): Promise<void> {
    const { work, log, ids } = this.#deps;
    for (const { owner, session, approval } of await work.expiredApprovals(pageSize)) {
      await expireApproval(log, ids, owner, approval);
      this.notify(owner, session);
    }
  }

  /** Resolves when nothing is under way here. */
  async idle(): Promise<void> {
    while (this.#working.size > 0) await Promise.all(this.#working.values());
  }

  /** Lets go of every run, so that another runner can go on with it at once. */
  async stop(): Promise<void> {
    this.#stop.abort();
    for (const held of this.#keeper.held) held.lose("stopping");
    await Promise.all(this.#loops);
    await this.idle();
    if ("agents" in this.#deps) await this.#deps.agents.close();
  }

  /** P6: for those that write nothing at the moment. A run that does learns of a cancel from the answer to its commit. */
  async #lookForCancels(): Promise<void> {
    for (const held of this.#keeper.held)
      if (held.hasWrittenNothing()) await held.run?.checkCancelled();
  }

  /** One at a time for each session; who comes meanwhile makes it look once more. */
  #begin(owner: OwnerId, session: SessionId, begin: () => Promise<void>): Promise<void> {
    const nothing = Promise.resolve();
    if (this.#stop.signal.aborted || this.#working.size >= this.#deps.maxRuns) return nothing;
    if (this.#working.has(session)) {
      this.#again.add(session);
      return nothing;
    }
    const work = begin()
      .catch((error: unknown) => this.#deps.onError(error))
      .finally(() => {
        this.#working.delete(session);
        if (this.#again.delete(session)) this.notify(owner, session);
      });
    this.#working.set(session, work);
    return work;
  }

  async #workOn(owner: OwnerId, session: SessionId, left: LeaseRow | undefined): Promise<void> {
    const askedAt = this.#deps.clock.now();
    const lease = await acquireRunLease(this.#deps, session, left);
    if (lease === null) return;
    this.#expired.delete(session);
    const held = this.#keeper.hold(lease, askedAt);
    try {
      await this.#goOn(owner, held);
    } finally {
      await this.#keeper.release(held);
    }
  }

  /** First what was left behind in the session, then message after message while there are any. */
  async #goOn(owner: OwnerId, held: HeldLease): Promise<void> {
    if (this.#stop.signal.aborted) return;
    const recovered = await takeOverRun(this.#deps, owner, held.lease);
    if (recovered !== null) await this.#drive(held, recovered.run, recovered.position);
    while (!this.#stop.signal.aborted && !held.lost) {
      const run = await claimNext(this.#deps, owner, held.lease);
      if (run === null) return;
      await this.#drive(held, run, initialPosition);
    }
  }

  async #drive(held: HeldLease, run: RunHandle, position: RunPosition): Promise<void> {
    held.run = run;
    if (held.lost) run.lose("fenced");
    if (this.#stop.signal.aborted) run.lose("stopping");
    await this.#driveWarm(held, run, position);
    held.run = null;
    if (run.refusal !== null) {
      await giveUpRun(this.#deps, run.owner, held.lease, run.refusal.code);
      return;
    }
    // A run that we could not end is somebody's to take over; the messages behind it wait for that.
    if (run.lost !== "ended") held.lose(run.lost ?? "fenced");
    else this.#deps.onEnded?.(run.owner, run.session);
  }

  async #driveWarm(held: HeldLease, run: RunHandle, position: RunPosition): Promise<void> {
    const raiseFence = () => this.#keeper.raiseFence(held, this.#deps.holder());
    const deps = { ...this.#deps, tick: this.#tick, raiseFence };
    if (!("agents" in deps)) return driveRun(deps, run, position);
    const warm = await borrowAgent(deps.agents, run);
    try {
      await driveRun({ ...deps, ...warm.stepDeps }, run, position, warm.cachedContext);
    } finally {
      warm.release();
    }
  }

  /**
   * A lease counts as left behind when its holder is proven dead, or when it has expired and was not renewed for half
   * its time by our own clock as well: a wall clock that jumps must not take a living runner's work away.
   */
  #isLeftBehind({ session, lease }: LiveWork): boolean {
    if (this.#working.has(session)) return false;
    if (lease === null || this.#provenDead(lease) !== undefined) return true;
    const seen = this.#expired.get(session);
    const now = this.#deps.clock.now();
    if (seen?.expiresAt !== lease.expiresAt) {
      this.#expired.set(session, { expiresAt: lease.expiresAt, seenAt: now });
      return false;
    }
    return now - seen.seenAt >= this.#deps.leaseMs / 2;
  }

  /** What has been taken over or has ended elsewhere is nothing to wait for. */
  #forgetOthers(live: readonly LiveWork[]): void {
    if (this.#expired.size === 0) return;
    const still = new Set(live.map(({ session }) => session));
    for (const session of this.#expired.keys())
      if (!still.has(session)) this.#expired.delete(session);
  }

  #provenDead(lease: LeaseRow | null): LeaseRow | undefined {
    if (lease === null) return undefined;
    return this.#deps.liveness.isDead(lease.holder) === "dead" ? lease : undefined;
  }

  async #every(ms: number, action: () => Promise<void>): Promise<void> {
    const { clock, onError } = this.#deps;
    while (!this.#stop.signal.aborted) {
      await action().catch((error: unknown) => onError(error));
      await clock.sleep(ms, this.#stop.signal);
    }
  }
}
