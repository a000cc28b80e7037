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
} from "@holdfast/protocol";

import type { Log } from "../log/log.ts";
import { type Clock } from "../ports/clock.ts";
import { type Commit, type CommitResult, type Refused } from "../ports/commit.ts";
import { type LeaseRow } from "../ports/rows.ts";

/** Why a runner has let go of a run. Unless it has ended, whoever takes it over goes on from the log. */
export type LossReason =
  | "ended"
  | "rests"
  | "fenced"
  | "trashed"
  | "store"
  | "stopping"
  | "refused";

type RunCommit = Pick<Commit, "events" | "expect" | "touch">;

const firstPauseMs = 100;
const maxPauseMs = 1_000;
/** How long a tick is sent again before its journal looks for another place. */
const tickRetryMs = 1_000;

/**
 * A run in a runner's hands: where it writes, and under which fence. The binding to its session is here and
 * nowhere in the agent, so that an agent that is reused can only write where its run belongs.
 */
export class RunHandle {
  readonly owner: OwnerId;
  readonly session: SessionId;
  readonly runId: RunId;
  /** Where the run's message came from, as far as is known. */
  readonly lane: LaneKey | null;
  readonly ids: IdSource;
  readonly #log: Log;
  readonly #clock: Clock;
  readonly #over = new AbortController();
  readonly #gone = new AbortController();
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

  /** The version before our first commit: what others have brought it to. */
  get versionBefore(): number {
    return this.#versionBefore;
  }

  get lease(): LeaseRow {
    return this.#lease;
  }

  /** The same run under a higher fence: what was sent under the old one and is still on its way is refused. */
  adoptLease(lease: LeaseRow): void {
    this.#lease = lease;
  }

  /** Set when the run is no longer ours to write. */
  get lost(): LossReason | null {
    return this.#lost;
  }

  /** What the store would not take, when that is why the run is lost. */
  get refusal(): Refused | null {
    return this.#refusal;
  }

  get cancelled(): boolean {
    return this.#cancelled;
  }

  /** How often it has written. Each answer tells whether anybody else wrote to the session meanwhile. */
  get commits(): number {
    return this.#commits;
  }

  /** Aborted by a cancel and by the loss of the run: for models, tools and waits. */
  get signal(): AbortSignal {
    return this.#over.signal;
  }

  /** Aborted by the loss alone. */
  get lossSignal(): AbortSignal {
    return this.#gone.signal;
  }

  lose(reason: LossReason): void {
    this.#lost ??= reason;
    this.#gone.abort();
    this.#over.abort();
  }

  /** Lets go of the run because of what a commit answered. */
  loseBy(result: Exclude<CommitResult, { status: "committed" }>): void {
    const reason = lossReasonOf(result);
    if (reason === "refused" && result.status === "refused") this.#refusal ??= result;
    this.lose(reason);
  }

  event<T extends EventType>(type: T, data: EventData<T>): NewEvent {
    return newEvent(this.ids.make("event"), type, data, this.runId);
  }

  /**
   * Commits under the fence and gives the events back as they stand in the log. A store that is away is waited for until
   * the lease would run out. `null`: the run is lost, and nothing of it is in our hands any more.
   */
  async write(events: readonly NewEvent[]): Promise<readonly StoredEvent[] | null> {
    const result = await this.sendUntilAnswered({ events });
    return this.#storedBy(events, result);
  }

  /** One try: `away` says that the store could not take it, and that the same events are to be sent again. */
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

  /** Sends the same commit until the store answers it, or the run is lost: who cannot renew stops by the keeper's clock. */
  async sendUntilAnswered(commit: RunCommit): Promise<CommitResult> {
    for (let tries = 0; ; tries += 1) {
      const result = await this.send(commit);
      if (result.status !== "failed" || result.code === "store_closed") return result;
      if (this.#lost !== null) return result;
      const pause = Math.min(maxPauseMs, firstPauseMs * 2 ** Math.min(tries, 10));
      await this.#clock.sleep(pause, this.#gone.signal);
    }
  }

  /** One commit, for callers to whom a refusal or a failure means something. */
  async send(commit: RunCommit, retryForMs?: number): Promise<CommitResult> {
    const { owner, session, lease } = this;
    if (this.#lost !== null)
      return { status: "refused", code: "fenced", message: "The run was given up." };
    const under = { lease: "run", fence: lease.fence } as const;
    const result = await this.#log.commit(
      { ...commit, owner, session, under },
      { signal: this.#gone.signal, ...(retryForMs !== undefined && { retryForMs }) },
    );
    if (result.status === "committed") {
      // A number that is not ours came between: it may be a cancel.
      const isAlone = result.first === this.#head + 1;
      this.#head = result.last;
      if (this.#commits === 0) this.#versionBefore = result.version - countEntries(commit.events);
      this.#commits += 1;
      this.#version = result.version;
      if (!isAlone) await this.checkCancelled();
    }
    return result;
  }

  /** P6: looks whether somebody asked for the run's end. */
  async checkCancelled(): Promise<void> {
    try {
      const run = await this.#log.store.reads.run(this.owner, this.runId);
      if (run?.cancelRequested !== true) return;
      this.#cancelled = true;
      this.#over.abort();
    } catch {
      // A store that cannot be read now is looked at again with the next tick.
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
