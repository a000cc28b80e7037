import {
  type IdSource,
  type LaneKey,
  newEvent,
  type EventData,
  type EventType,
  type NewEvent,
  type OwnerId,
  roleOf,
  type RunId,
  type Seq,
  type SessionId,
  type StoredEvent,
  backoffMs,
} from "@holdfast/protocol";

import type { Log } from "../log/log.ts";
import { type Clock } from "../ports/clock.ts";
import { type Commit, type CommitResult, type Refused } from "../ports/commit.ts";
import { type LeaseRow } from "../ports/rows.ts";

/** Why a runner gave up a run. Unless the run has ended, whoever takes it over continues from the log. */
export type LossReason =
  | "ended"
  | "rests"
  | "fenced"
  | "trashed"
  | "store"
  | "stopping"
  | "refused";

type RunCommit = Pick<Commit, "events" | "expect" | "touch">;

const resendBackoff = { firstMs: 100, longestMs: 1_000 };
/** How long a tick's commit is retried before the journal spills. */
const tickRetryMs = 1_000;

/**
 * A run as its runner holds it: where it writes, and under which fence. Only this object binds it to its session, never
 * the agent, so a reused agent can only write where its run belongs.
 */
export class RunHandle {
  readonly owner: OwnerId;
  readonly session: SessionId;
  readonly runId: RunId;
  /** Where the run's message came from, if known. */
  readonly lane: LaneKey | null;
  readonly ids: IdSource;
  readonly #log: Log;
  readonly #clock: Clock;
  readonly #stopController = new AbortController();
  readonly #lossController = new AbortController();
  #lease: LeaseRow;
  #head: Seq;
  #lost: LossReason | null = null;
  #refusal: Refused | null = null;
  #cancelled = false;
  #commits = 0;
  #version = 0;
  #versionBefore = 0;

  constructor(
    log: Log,
    ids: IdSource,
    run: { owner: OwnerId; runId: RunId; lease: LeaseRow; head: Seq; lane?: LaneKey | null },
    clock: Clock,
  ) {
    this.#log = log;
    this.#clock = clock;
    this.ids = ids;
    this.owner = run.owner;
    this.session = run.lease.session;
    this.runId = run.runId;
    this.#lease = run.lease;
    this.lane = run.lane ?? null;
    this.#head = run.head;
  }

  /** The session's version as of our last commit. */
  get version(): number {
    return this.#version;
  }

  /** The session's version before our first commit. */
  get versionBefore(): number {
    return this.#versionBefore;
  }

  get lease(): LeaseRow {
    return this.#lease;
  }

  /** Continues the run under a higher fence: commits still in flight under the old one are refused. */
  adoptLease(lease: LeaseRow): void {
    this.#lease = lease;
  }

  /** Set once we may no longer write to the run. */
  get lost(): LossReason | null {
    return this.#lost;
  }

  /** The refusal, if that is why the run was lost. */
  get refusal(): Refused | null {
    return this.#refusal;
  }

  get cancelled(): boolean {
    return this.#cancelled;
  }

  /** How many commits it has made. Each result shows whether anybody else wrote to the session meanwhile. */
  get commits(): number {
    return this.#commits;
  }

  /** Aborted by a cancel or the loss of the run: for models, tools and waits. */
  get signal(): AbortSignal {
    return this.#stopController.signal;
  }

  /** Aborted only by the loss of the run. */
  get lossSignal(): AbortSignal {
    return this.#lossController.signal;
  }

  lose(reason: LossReason): void {
    this.#lost ??= reason;
    this.#lossController.abort();
    this.#stopController.abort();
  }

  /** Gives up the run because of a commit's result. */
  loseBy(result: Exclude<CommitResult, { status: "committed" }>): void {
    const reason = lossReasonOf(result);
    if (reason === "refused" && result.status === "refused") this.#refusal ??= result;
    this.lose(reason);
  }

  event<T extends EventType>(type: T, data: EventData<T>): NewEvent {
    return newEvent(this.ids.make("event"), type, data, this.runId);
  }

  /**
   * Commits under the fence and returns the events as stored. Retries while the store is away, until the lease would
   * run out. `null`: the run is lost and we no longer hold any of it.
   */
  async write(events: readonly NewEvent[]): Promise<readonly StoredEvent[] | null> {
    const result = await this.sendUntilAnswered({ events });
    return this.#storedBy(events, result);
  }

  /** One try. `away`: the store could not take it, and the same events must be sent again. */
  async tryWrite(events: readonly NewEvent[]): Promise<readonly StoredEvent[] | null | "away"> {
    const result = await this.send({ events }, tickRetryMs);
    if (result.status === "failed" && result.code !== "store_closed") return "away";
    return this.#storedBy(events, result);
  }

  #storedBy(events: readonly NewEvent[], result: CommitResult): readonly StoredEvent[] | null {
    if (result.status !== "committed") {
      this.loseBy(result);
      return null;
    }
    const { first, at } = result;
    return events.map((event, index) => ({ ...event, seq: (first + index) as Seq, at }));
  }

  /**
   * Sends the same commit until the store answers or the run is lost; the lease renewer loses it when the lease cannot
   * be renewed.
   */
  async sendUntilAnswered(commit: RunCommit): Promise<CommitResult> {
    for (let tries = 0; ; tries += 1) {
      const result = await this.send(commit);
      if (result.status !== "failed" || result.code === "store_closed") return result;
      if (this.#lost !== null) return result;
      await this.#clock.sleep(backoffMs(resendBackoff, tries), this.#lossController.signal);
    }
  }

  /** One commit, for callers that handle refusals and failures themselves. */
  async send(commit: RunCommit, retryForMs?: number): Promise<CommitResult> {
    const { owner, session, lease } = this;
    if (this.#lost !== null)
      return { status: "refused", code: "fenced", message: "The run was given up." };
    const under = { lease: "run", fence: lease.fence } as const;
    const result = await this.#log.commit(
      { ...commit, owner, session, under },
      { signal: this.#lossController.signal, ...(retryForMs !== undefined && { retryForMs }) },
    );
    if (result.status === "committed") {
      // A foreign event came in between: it may be a cancel.
      const isAlone = result.first === this.#head + 1;
      this.#head = result.last;
      if (this.#commits === 0) this.#versionBefore = result.version - countEntries(commit.events);
      this.#commits += 1;
      this.#version = result.version;
      if (!isAlone) await this.checkCancelled();
    }
    return result;
  }

  /** P6: checks whether somebody asked to cancel the run. */
  async checkCancelled(): Promise<void> {
    try {
      const run = await this.#log.store.reads.run(this.owner, this.runId);
      if (run?.cancelRequested !== true) return;
      this.#cancelled = true;
      this.#stopController.abort();
    } catch {
      // The store cannot be read right now; the next tick checks again.
    }
  }
}

function countEntries(events: readonly NewEvent[]): number {
  return events.filter((event) => roleOf(event) === "entry").length;
}

function lossReasonOf(result: Exclude<CommitResult, { status: "committed" }>): LossReason {
  if (result.status === "failed") return "store";
  switch (result.code) {
    case "fenced":
      return "fenced";
    case "session_trashed":
    case "session_not_found":
      return "trashed";
    case "run_ended":
      return "ended";
    default:
      return "refused";
  }
}
