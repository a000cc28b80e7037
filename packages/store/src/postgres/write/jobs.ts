import type { Failed } from "@holdfast/engine";

import type { Connection } from "../connection.ts";
import type { GroupNeeds } from "./load.ts";
import type { WorkingCopy } from "./working-copy.ts";

/** One write on its way: what it needs, how it is decided, and what its caller is told. */
export interface Job {
  readonly submittedAt: number;
  readonly plan:
    | {
        readonly kind: "shared";
        readonly needs: GroupNeeds;
        readonly decide: (copy: WorkingCopy) => void;
      }
    /** Has a transaction of its own. */
    | {
        readonly kind: "alone";
        readonly work: (session: Connection, now: number) => Promise<void>;
      };
  /** A COMMIT was sent, no answer came, and nobody has been able to look since: what was decided may stand. */
  readonly inDoubt: boolean;
  markInDoubt(): void;
  /** The transaction that it was decided in is committed. */
  confirm(): void;
  fail(failure: Failed): void;
  /** The database does not take this data. */
  reject(failure: Failed): void;
}

interface JobDeps<R> {
  /**
   * `doubtful` is the answer of an earlier attempt whose COMMIT got none. An attempt that finds its work done
   * gives that answer.
   */
  readonly decide?: (copy: WorkingCopy, doubtful: R | undefined) => R;
  readonly needs?: GroupNeeds;
  readonly work?: (session: Connection, now: number, doubtful: R | undefined) => Promise<R>;
  readonly failed: (failure: Failed) => R;
  readonly rejected?: (failure: Failed) => R;
}

export interface PendingJob<R> {
  readonly job: Job;
  readonly result: () => R;
}

export function createJob<R>(options: JobDeps<R>): PendingJob<R> {
  const { needs = { sessions: [] }, decide, work, failed, rejected = failed } = options;
  let decided: { answer: R } | undefined;
  let doubtful: R | undefined;
  let inDoubt = false;
  // Whoever decides has the rows under their locks: an earlier COMMIT either shows by now or never will.
  const settleOn = (answer: R): void => {
    inDoubt = false;
    decided = { answer };
  };
  let final: (() => R) | undefined;
  const job: Job = {
    submittedAt: performance.now(),
    plan:
      work === undefined
        ? {
            kind: "shared",
            needs,
            decide: (copy) => decide && settleOn(decide(copy, doubtful)),
          }
        : {
            kind: "alone",
            work: async (session, now) => settleOn(await work(session, now, doubtful)),
          },
    get inDoubt() {
      return inDoubt;
    },
    markInDoubt() {
      inDoubt = true;
      doubtful = decided?.answer;
    },
    confirm() {
      const answer = decided;
      if (answer !== undefined) final = () => answer.answer;
    },
    fail: (failure) => void (final = () => failed(failure)),
    reject: (failure) => void (final = () => rejected(failure)),
  };
  return {
    job,
    result() {
      if (final === undefined) throw new Error("A write was left without an answer.");
      return final();
    },
  };
}
