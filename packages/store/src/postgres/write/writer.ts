import { setTimeout as wait } from "node:timers/promises";
import type { Client } from "pg";
import type { SessionId } from "@holdfast/protocol";
import { type QueryResult, type Connection, statement, connectWriter } from "../connection.ts";
import { RetryTransaction, failureOf, type ErrorClass, classifyError } from "../errors.ts";
import type { Job, PendingJob } from "./jobs.ts";
import { decodeLoaded, sendLoadQueries } from "./load.ts";
import { WorkingCopy } from "./working-copy.ts";
import { awaitAll, writeChanges } from "./write-changes.ts";
import type { Failed } from "@holdfast/engine";
import { GroupQueue, type Pace } from "../../shared/group-queue.ts";
import type { Settings } from "../settings.ts";

export type TransactionResult =
  | { readonly status: "committed"; readonly news: CommitNotice | null }
  /** Nothing stands, or (`commit`) it may: the COMMIT was sent and its answer is missing. */
  | { readonly status: "broken"; readonly at: "work" | "commit"; readonly error: unknown };

/** What a commit changed, for those who follow. */
export interface CommitNotice {
  readonly sessions: readonly SessionId[];
  /** Those with new entries or titles. */
  readonly searchable: readonly SessionId[];
}

/** Carries jobs out in one transaction. Three round trips, however many they are: look, write, commit. */
async function runTransaction(
  session: Connection,
  jobs: readonly Job[],
  clockOffset: number,
): Promise<TransactionResult> {
  let news: CommitNotice | null;
  try {
    news = await runJobs(session, jobs, clockOffset);
  } catch (error) {
    await session.query({ text: "ROLLBACK" }).catch(() => undefined);
    return { status: "broken", at: "work", error };
  }
  if (news === null) {
    await session.query({ text: "ROLLBACK" }).catch(() => undefined);
    return { status: "committed", news };
  }
  try {
    const { command } = await session.query({ text: "COMMIT" });
    // PostgreSQL answers the COMMIT of a failed transaction with ROLLBACK.
    if (command === "COMMIT") return { status: "committed", news };
    return { status: "broken", at: "work", error: new RetryTransaction("rolled back") };
  } catch (error) {
    return { status: "broken", at: "commit", error };
  }
}

/** `null`: there is nothing to commit. */
async function runJobs(
  session: Connection,
  jobs: readonly Job[],
  clockOffset: number,
): Promise<CommitNotice | null> {
  const [first] = jobs;
  if (first?.plan.kind === "alone") {
    const [, clock] = await awaitAll([session.query({ text: "BEGIN" }), session.query(readClock)]);
    await first.plan.work(session, nowOf(clock) + clockOffset);
    return { sessions: [], searchable: [] };
  }
  const shared = jobs.flatMap(({ plan }) => (plan.kind === "shared" ? [plan] : []));
  const needs = shared.map((plan) => plan.needs);
  const answers = await awaitAll([
    session.query({ text: "BEGIN" }),
    ...sendLoadQueries(session, needs),
  ]);
  const copy = new WorkingCopy(decodeLoaded(answers.at(-1)!, clockOffset));
  for (const plan of shared) plan.decide(copy);
  if (copy.changes.isEmpty) return null;
  await writeChanges(session, copy.changes, copy.now);
  return { sessions: copy.changes.changedSessions, searchable: [...copy.changes.searchable] };
}

export const readClock = statement(
  "read_clock",
  "SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint AS now",
);

function nowOf(answer: QueryResult | undefined): number {
  return Number(answer?.rows[0]?.["now"]);
}

const storeClosed: Failed = {
  status: "failed",
  code: "store_closed",
  message: "The store was closed.",
};

/** Someone else held a row for too long. */
interface LockTimeout {
  readonly error: unknown;
}

/** The one connection that this process writes through, and what becomes of a write when it breaks. */
export class Writer {
  readonly #settings: Settings;
  readonly #queue: GroupQueue<Job, void>;
  readonly #committed: (news: CommitNotice) => void;
  #client: Client | undefined;
  #state: "open" | "closing" = "open";

  constructor(settings: Settings, committed: (news: CommitNotice) => void) {
    this.#settings = settings;
    this.#committed = committed;
    this.#queue = new GroupQueue({
      run: (group) => this.#carryOut(group),
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

  async #carryOut(group: readonly Job[]): Promise<void[]> {
    const shared = group.filter((job) => job.plan.kind === "shared");
    const alone = group.filter((job) => job.plan.kind === "alone");
    if (shared.length > 0) await this.#settle(shared);
    for (const job of alone) await this.#settle([job]);
    return group.map(() => undefined);
  }

  /** Tries until each job has its answer: committed, refused, or given up on when its time has passed. */
  async #settle(jobs: readonly Job[]): Promise<LockTimeout | undefined> {
    for (let tries = 0; ; tries += 1) {
      if (tries > 0) await wait(Math.random() * Math.min(20 * 2 ** tries, 500));
      const attempt = await this.#attempt(jobs);
      if (attempt.status === "settled") return undefined;
      const { trouble, error } = attempt;
      const retry = trouble === "lost" || trouble === "again";
      if (retry && (tries === 0 || this.#mayGoOn(jobs))) continue;
      if (!retry && jobs.length > 1) {
        await this.#settleEach(jobs);
        return undefined;
      }
      for (const job of jobs) this.#giveUp(job, error);
      return trouble === "busy" ? { error } : undefined;
    }
  }

  /** Whose fault it was is found out by running each on its own: the others are as if it had never been there. */
  async #settleEach(jobs: readonly Job[]): Promise<void> {
    const held = new Map<string, LockTimeout>();
    for (const job of jobs) {
      const sessions = job.plan.kind === "shared" ? job.plan.needs.sessions : [];
      const holding = sessions
        .map((session) => held.get(session))
        .find((each) => each !== undefined);
      // One wait for a row that someone holds is enough: those behind it would hold everybody else up.
      if (holding !== undefined) this.#giveUp(job, holding.error);
      else {
        const busy = await this.#settle([job]);
        if (busy !== undefined) for (const session of sessions) held.set(session, busy);
      }
    }
  }

  async #attempt(
    jobs: readonly Job[],
  ): Promise<{ status: "settled" } | { status: "broken"; trouble: ErrorClass; error: unknown }> {
    let client: Client;
    try {
      client = this.#client ??= await connectWriter(this.#settings);
    } catch (error) {
      return { status: "broken", trouble: classifyConnectError(error), error };
    }
    const attempt = await runTransaction(client, jobs, this.#settings.clockOffset());
    if (attempt.status === "committed") {
      for (const job of jobs) job.confirm();
      if (attempt.news !== null) this.#committed(attempt.news);
      return { status: "settled" };
    }
    const { at, error } = attempt;
    const trouble = classifyError(error);
    if (at === "commit") for (const job of jobs) job.markInDoubt();
    // Not waited for: the other end may never answer again.
    if (trouble === "lost" || at === "commit") void this.#disconnect();
    return { status: "broken", trouble: at === "commit" ? "lost" : trouble, error };
  }

  #mayGoOn(jobs: readonly Job[]): boolean {
    const oldest = Math.min(...jobs.map((job) => job.submittedAt));
    return performance.now() - oldest < this.#settings.giveUpMs;
  }

  #giveUp(job: Job, error: unknown): void {
    const failure = failureOf(error);
    if (job.inDoubt) {
      const message = `PostgreSQL did not answer whether this is committed. (${failure.message})`;
      job.fail({ status: "failed", code: "store_unknown", message });
    } else if (classifyError(error) === "data") job.reject(failure);
    else job.fail(failure);
  }

  async #disconnect(): Promise<void> {
    const client = this.#client;
    this.#client = undefined;
    await client?.end().catch(() => undefined);
  }
}

/** A server that refuses us now (starting up, too many connections, a failover) may take us a moment later. */
function classifyConnectError(error: unknown): ErrorClass {
  const trouble = classifyError(error);
  return trouble === "other" ? "other" : "lost";
}
