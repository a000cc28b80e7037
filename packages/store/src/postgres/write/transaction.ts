import type { SessionId } from "@holdfast/protocol";

import type { QueryResult, Connection } from "../connection.ts";
import { RetryTransaction } from "../errors.ts";
import { statement } from "../statement.ts";
import type { Job } from "./jobs.ts";
import { decodeLoaded, sendLoadQueries } from "./load.ts";
import { WorkingCopy } from "./working-copy.ts";
import { awaitAll, writeChanges } from "./write-changes.ts";

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
export async function runTransaction(
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
