import type { SessionId } from "@holdfast/protocol";

import type { Answer, Session } from "../connection.ts";
import { Moved } from "../errors.ts";
import { statement } from "../statement.ts";
import type { Job } from "./jobs.ts";
import { readLoaded, sendLoad } from "./load.ts";
import { WorkingCopy } from "./working-copy.ts";
import { allOf, writeChanges } from "./write-changes.ts";

export type Attempt =
  | { readonly status: "committed"; readonly news: News | null }
  /** Nothing stands, or (`commit`) it may: the COMMIT was sent and its answer is missing. */
  | { readonly status: "broken"; readonly at: "work" | "commit"; readonly error: unknown };

/** What a commit changed, for those who follow. */
export interface News {
  readonly sessions: readonly SessionId[];
  /** Those with new entries or titles. */
  readonly searchable: readonly SessionId[];
}

/** Carries jobs out in one transaction. Three round trips, however many they are: look, write, commit. */
export async function transact(
  session: Session,
  jobs: readonly Job[],
  clockOffset: number,
): Promise<Attempt> {
  let news: News | null;
  try {
    news = await work(session, jobs, clockOffset);
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
    return { status: "broken", at: "work", error: new Moved("rolled back") };
  } catch (error) {
    return { status: "broken", at: "commit", error };
  }
}

/** `null`: there is nothing to commit. */
async function work(
  session: Session,
  jobs: readonly Job[],
  clockOffset: number,
): Promise<News | null> {
  const [first] = jobs;
  if (first?.plan.kind === "alone") {
    const [, clock] = await allOf([session.query({ text: "BEGIN" }), session.query(readClock)]);
    await first.plan.work(session, clockOf(clock) + clockOffset);
    return { sessions: [], searchable: [] };
  }
  const shared = jobs.flatMap(({ plan }) => (plan.kind === "shared" ? [plan] : []));
  const needs = shared.map((plan) => plan.needs);
  const answers = await allOf([session.query({ text: "BEGIN" }), ...sendLoad(session, needs)]);
  const copy = new WorkingCopy(readLoaded(answers.at(-1)!, clockOffset));
  for (const plan of shared) plan.decide(copy);
  if (copy.changes.isEmpty) return null;
  await writeChanges(session, copy.changes, copy.now);
  return { sessions: copy.changes.touched, searchable: [...copy.changes.searchable] };
}

export const readClock = statement(
  "read_clock",
  "SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint AS now",
);

function clockOf(answer: Answer | undefined): number {
  return Number(answer?.rows[0]?.["now"]);
}
