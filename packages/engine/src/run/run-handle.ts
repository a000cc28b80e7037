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

import type { Log } from "../log/index.ts";
import type { Commit, CommitResult, LeaseRow, Refused } from "../ports/index.ts";

/** Why a runner has let go of a run. Unless it has ended, whoever takes it over goes on from the log. */
export type LossReason =
  | "ended"
  | "rests"
  | "fenced"
  | "trashed"
  | "store"
  | "stopping"
  | "refused";

/**
 * A run in a runner's hands: where it writes, and under which fence. The binding to its session is here and
 * nowhere in the agent, so that an agent that is reused can only write where its run belongs.
 */
export class RunHandle {
  readonly owner: OwnerId;
  readonly session: SessionId;
  readonly runId: RunId;
  readonly lease: LeaseRow;
  /** Where the run's message came from, as far as is known. */
  readonly lane: LaneKey | null;
  readonly ids: IdSource;
  readonly #log: Log;
  readonly #over = new AbortController();
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
  ) {
    this.#log = log;
    this.ids = ids;
    this.owner = run.owner;
    this.session = run.lease.session;
    this.runId = run.runId;
    this.lease = run.lease;
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

  lose(reason: LossReason): void {
    this.#lost ??= reason;
    this.#over.abort();
  }

  /** Lets go of the run because of what a commit answered. */
  loseBy(result: Exclude<CommitResult, { status: "committed" }>): void {
    const reason = lossOf(result);
    if (reason === "refused" && result.status === "refused") this.#refusal ??= result;
    this.lose(reason);
  }

  event<T extends EventType>(type: T, data: EventData<T>): NewEvent {
    return newEvent(this.ids.make("event"), type, data, this.runId);
  }

  /**
   * Commits under the fence and gives the events back as they stand in the log. `null`: the run is lost, and nothing
   * of it is in our hands any more.
   */
  async write(events: readonly NewEvent[]): Promise<readonly StoredEvent[] | null> {
    const result = await this.send({ events });
    if (result.status !== "committed") {
      this.loseBy(result);
      return null;
    }
    const { first, at } = result;
    return events.map((event, index) => ({ ...event, seq: (first + index) as Seq, at }));
  }

  /** As `write`, for a commit whose refusal means something to the caller. */
  async send(commit: Pick<Commit, "events" | "expect">): Promise<CommitResult> {
    const { owner, session, lease } = this;
    if (this.#lost !== null)
      return { status: "refused", code: "fenced", message: "The run was given up." };
    const under = { lease: "run", fence: lease.fence } as const;
    const result = await this.#log.commit({ ...commit, owner, session, under });
    if (result.status === "committed") {
      // A number that is not ours came between: it may be a cancel.
      const isAlone = result.first === this.#head + 1;
      this.#head = result.last;
      if (this.#commits === 0) this.#versionBefore = result.version - entriesIn(commit.events);
      this.#commits += 1;
      this.#version = result.version;
      if (!isAlone) await this.look();
    }
    return result;
  }

  /** P6: looks whether somebody asked for the run's end. */
  async look(): Promise<void> {
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

function entriesIn(events: readonly NewEvent[]): number {
  return events.filter((event) => roleOf(event) === "entry").length;
}

function lossOf(result: Exclude<CommitResult, { status: "committed" }>): LossReason {
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
