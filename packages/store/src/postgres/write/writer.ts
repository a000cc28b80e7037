import type { Client } from "pg";
import { type SessionId, sleep } from "@holdfast/protocol";
import {
  asConnection,
  awaitAll,
  beginOf,
  type QueryResult,
  type Connection,
  statement,
  connectWriter,
} from "../connection.ts";
import {
  RetryTransaction,
  storeClosed,
  retryDelayMs,
  failureOf,
  type ErrorClass,
  classifyError,
} from "../errors.ts";
import type { Job, PendingJob } from "./jobs.ts";
import { loadNeeds } from "./load.ts";
import { WorkingCopy } from "./working-copy.ts";
import { writeChanges } from "./write-changes.ts";
import type { Failed } from "@holdfast/engine";
import { GroupQueue, type Pace } from "../../shared/group-queue.ts";
import type { Settings } from "../settings.ts";

export type TransactionResult =
  | { readonly status: "committed"; readonly notice: CommitNotice | null }
  /** Nothing was committed, or (`commit`) it may have been: the COMMIT was sent and its reply is missing. */
  | { readonly status: "broken"; readonly at: "work" | "commit"; readonly error: unknown };

/** What a commit changed. */
export interface CommitNotice {
  readonly sessions: readonly SessionId[];
  /** Whether any has new entries or another title. */
  readonly searchable: boolean;
}

/** Runs jobs in one transaction with three round trips, however many jobs there are: load, write, commit. */
async function runTransaction(
  connection: Connection,
  jobs: readonly Job[],
  settings: Settings,
): Promise<TransactionResult> {
  let notice: CommitNotice | null;
  try {
    notice = await runJobs(connection, jobs, settings);
  } catch (error) {
    await connection.query({ text: "ROLLBACK" }).catch(() => undefined);
    return { status: "broken", at: "work", error };
  }
  if (notice === null) {
    await connection.query({ text: "ROLLBACK" }).catch(() => undefined);
    return { status: "committed", notice };
  }
  try {
    const { command } = await connection.query({ text: "COMMIT" });
    // PostgreSQL answers the COMMIT of a failed transaction with ROLLBACK.
    if (command === "COMMIT") return { status: "committed", notice };
    return { status: "broken", at: "work", error: new RetryTransaction("rolled back") };
  } catch (error) {
    return { status: "broken", at: "commit", error };
  }
}

/** `null`: there is nothing to commit. */
async function runJobs(
  connection: Connection,
  jobs: readonly Job[],
  settings: Settings,
): Promise<CommitNotice | null> {
  const [first] = jobs;
  const begin = beginOf(settings, "write");
  const clockOffset = settings.clockOffset();
  if (first?.plan.kind === "alone") {
    const [, clock] = await awaitAll([
      connection.query({ text: begin }),
      connection.query(readClock),
    ]);
    await first.plan.work(connection, nowOf(clock) + clockOffset);
    return { sessions: [], searchable: false };
  }
  const shared = jobs.flatMap(({ plan }) => (plan.kind === "shared" ? [plan] : []));
  const needs = shared.map((plan) => plan.needs);
  const copy = new WorkingCopy(await loadNeeds(connection, begin, needs, clockOffset));
  for (const plan of shared) plan.decide(copy);
  if (copy.changes.isEmpty) return null;
  await writeChanges(connection, copy.changes, copy.now);
  return { sessions: copy.changes.changedSessions, searchable: copy.changes.searchable };
}

export const readClock = statement(
  "read_clock",
  "SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint AS now",
);

function nowOf(result: QueryResult | undefined): number {
  return Number(result?.rows[0]?.["now"]);
}

/** Somebody else held a row lock for too long. */
interface LockTimeout {
  readonly error: unknown;
}

/** The connection that this process writes through. Retries writes when it breaks. */
export class Writer {
  readonly #settings: Settings;
  readonly #queue: GroupQueue<Job, void>;
  readonly #onCommit: (notice: CommitNotice) => void;
  #client: Client | undefined;
  #state: "open" | "closing" = "open";

  constructor(settings: Settings, onCommit: (notice: CommitNotice) => void) {
    this.#settings = settings;
    this.#onCommit = onCommit;
    this.#queue = new GroupQueue({
      run: (group) => this.#runGroup(group),
      tickMs: settings.tickMs,
      maxGroup: settings.maxGroup,
    });
  }

  async submit<R>({ job, result }: PendingJob<R>, pace: Pace = "now"): Promise<R> {
    if (this.#state === "open") await this.#queue.submit(job, pace);
    else job.fail(storeClosed);
    return result();
  }

  async close(): Promise<void> {
    this.#state = "closing";
    await this.#queue.drain();
    await this.#disconnect();
  }

  async #runGroup(group: readonly Job[]): Promise<void[]> {
    const shared = group.filter((job) => job.plan.kind === "shared");
    const alone = group.filter((job) => job.plan.kind === "alone");
    if (shared.length > 0) await this.#settle(shared);
    for (const job of alone) await this.#settle([job]);
    return group.map(() => undefined);
  }

  /** Retries until each job has a result: committed, refused, or given up after its time. */
  async #settle(jobs: readonly Job[]): Promise<LockTimeout | undefined> {
    for (let tries = 0; ; tries += 1) {
      if (tries > 0) await sleep(retryDelayMs(tries));
      const attempt = await this.#attempt(jobs);
      if (attempt.status === "settled") return undefined;
      const { errorClass, error } = attempt;
      const retry = errorClass === "lost" || errorClass === "retry";
      if (retry && (tries === 0 || this.#hasTimeLeft(jobs))) continue;
      if (!retry && jobs.length > 1) {
        await this.#settleEach(jobs);
        return undefined;
      }
      for (const job of jobs) this.#giveUp(job, error);
      return errorClass === "busy" ? { error } : undefined;
    }
  }

  /** Runs each job alone to isolate the failing one; the others aren't affected by it. */
  async #settleEach(jobs: readonly Job[]): Promise<void> {
    const timeouts = new Map<string, LockTimeout>();
    for (const job of jobs) {
      const sessions = job.plan.kind === "shared" ? job.plan.needs.sessions : [];
      const timeout = sessions
        .map((session) => timeouts.get(session))
        .find((lockTimeout) => lockTimeout !== undefined);
      // Waiting once for a locked row is enough: the jobs queued behind it would delay everybody else.
      if (timeout !== undefined) this.#giveUp(job, timeout.error);
      else {
        const lockTimeout = await this.#settle([job]);
        if (lockTimeout !== undefined)
          for (const session of sessions) timeouts.set(session, lockTimeout);
      }
    }
  }

  async #attempt(
    jobs: readonly Job[],
  ): Promise<{ status: "settled" } | { status: "broken"; errorClass: ErrorClass; error: unknown }> {
    let client: Client;
    try {
      client = this.#client ??= await connectWriter(this.#settings);
    } catch (error) {
      return { status: "broken", errorClass: classifyConnectError(error), error };
    }
    const connection = asConnection(client, this.#settings);
    const attempt = await runTransaction(connection, jobs, this.#settings);
    if (attempt.status === "committed") {
      for (const job of jobs) job.confirm();
      if (attempt.notice !== null) this.#onCommit(attempt.notice);
      return { status: "settled" };
    }
    const { at, error } = attempt;
    const errorClass = classifyError(error);
    if (at === "commit") for (const job of jobs) job.markInDoubt();
    // Not awaited: the other end may never answer.
    if (errorClass === "lost" || at === "commit") void this.#disconnect();
    return { status: "broken", errorClass: at === "commit" ? "lost" : errorClass, error };
  }

  #hasTimeLeft(jobs: readonly Job[]): boolean {
    const oldest = Math.min(...jobs.map((job) => job.submittedAt));
    return performance.now() - oldest < this.#settings.giveUpMs;
  }

  #giveUp(job: Job, error: unknown): void {
    const failure = failureOf(error);
    if (job.inDoubt) {
      const message = `PostgreSQL did not answer whether this is committed. (${failure.message})`;
      this.#fail(job, { status: "failed", code: "store_unknown", message });
    } else if (classifyError(error) === "data") job.reject(failure);
    else this.#fail(job, failure);
  }

  #fail(job: Job, failure: Failed): void {
    this.#settings.onWriteFailed(failure);
    job.fail(failure);
  }

  async #disconnect(): Promise<void> {
    const client = this.#client;
    this.#client = undefined;
    await client?.end().catch(() => undefined);
  }
}

/**
 * A server that refuses connections now (starting up, too many connections, a failover) may accept them a moment
 * later.
 */
function classifyConnectError(error: unknown): ErrorClass {
  const errorClass = classifyError(error);
  return errorClass === "other" ? "other" : "lost";
}
