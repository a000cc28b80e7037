import {
  type Failed,
  repeatedCommitResult,
  repeatedInputResult,
  type Commit,
  type CommitResult,
  decideCommit,
  needsOf,
  decideLease,
  type LeaseRef,
  type LeaseRequest,
  type LeaseResult,
  type Leases,
  type PutBlobResult,
} from "@holdfast/engine";
import type { Connection } from "../connection.ts";
import type { GroupNeeds } from "./load.ts";
import type { WorkingCopy, NewBlob } from "./working-copy.ts";
import type { Seq } from "@holdfast/protocol";

/** One queued write: what it needs, how it is decided, and what its caller gets. */
export interface Job {
  readonly submittedAt: number;
  readonly plan:
    | {
        readonly kind: "shared";
        readonly needs: GroupNeeds;
        readonly decide: (copy: WorkingCopy) => void;
      }
    /** Runs in its own transaction. */
    | {
        readonly kind: "alone";
        readonly work: (connection: Connection, now: number) => Promise<void>;
      };
  /** A COMMIT was sent, no reply came, and nobody has been able to check since: the decision may be committed. */
  readonly inDoubt: boolean;
  markInDoubt(): void;
  /** The transaction of the decision is committed. */
  confirm(): void;
  fail(failure: Failed): void;
  /** The database rejects this data. */
  reject(failure: Failed): void;
}

interface JobDeps<R> {
  /**
   * `doubtful` is the result of an earlier attempt whose COMMIT got no reply. An attempt that finds its work done
   * returns it.
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
  let decided: { result: R } | undefined;
  let doubtful: R | undefined;
  let inDoubt = false;
  // The decision is made under row locks: by now an earlier COMMIT is either visible or will never be.
  const decideOn = (result: R): void => {
    inDoubt = false;
    decided = { result };
  };
  let final: (() => R) | undefined;
  const job: Job = {
    submittedAt: performance.now(),
    plan:
      work === undefined
        ? {
            kind: "shared",
            needs,
            decide: (copy) => decide && decideOn(decide(copy, doubtful)),
          }
        : {
            kind: "alone",
            work: async (connection, now) => decideOn(await work(connection, now, doubtful)),
          },
    get inDoubt() {
      return inDoubt;
    },
    markInDoubt() {
      inDoubt = true;
      doubtful = decided?.result;
    },
    confirm() {
      const result = decided;
      if (result !== undefined) final = () => result.result;
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

export function commitJob(commit: Commit): PendingJob<CommitResult> {
  const needs = needsOf(commit);
  return createJob<CommitResult>({
    needs: {
      ...needs,
      sessions: [commit.session, ...(needs.origin === undefined ? [] : [needs.origin])],
      events: needs.firstEvent === undefined ? [] : [needs.firstEvent],
    },
    decide: (copy, doubtful) => {
      const earlier = findEarlierCommit(copy, commit, doubtful);
      if (earlier !== undefined) return earlier;
      const decided = decideCommit(copy.loaded(commit, needs), commit, copy.now);
      if (decided.status === "refused") return decided;
      if (decided.status === "repeated") {
        return repeatedInputResult(decided, copy.session(commit.session)!.row);
      }
      copy.apply(decided);
      return decided.result;
    },
    failed: (failure) => failure,
    rejected: ({ message }) => ({ status: "refused", code: "invalid_event", message }),
  });
}

/** P1: finds a commit that succeeded but whose response got lost, by the id of its first event. */
function findEarlierCommit(
  copy: WorkingCopy,
  commit: Commit,
  doubtful: CommitResult | undefined,
): CommitResult | undefined {
  const session = copy.session(commit.session)?.row;
  const position = copy.positionOf(commit.events[0]?.id);
  if (session?.owner !== commit.owner || position?.session !== commit.session) return undefined;
  // Our own commit, whose reply the connection lost: for the caller this is the first result.
  if (doubtful?.status === "committed" && doubtful.first === position.seq) return doubtful;
  return repeatedCommitResult(commit, { seq: position.seq as Seq, at: position.at }, session);
}

/**
 * `locked`: somebody else is writing to the session. A group does not wait for that, since one row that stays locked
 * would hold up every other write of this process.
 */
export function acquireJob(request: LeaseRequest): PendingJob<LeaseResult | "locked"> {
  const { kind, session } = request;
  return createJob<LeaseResult | "locked">({
    needs: { sessions: [], sessionsIfFree: [session] },
    decide: (copy) => {
      const stored = copy.session(session);
      if (stored !== null && !copy.isLocked(session)) return "locked";
      if (stored === null || stored.row.trashedAt !== null) {
        return { status: "refused", code: "session_not_found" };
      }
      const lastFence = copy.lastFence(kind, session);
      const decided = decideLease(copy.lease(kind, session), lastFence, request, copy.now);
      if (decided.status === "acquired") copy.setLease(decided.lease);
      return decided;
    },
    failed: (failure) => failure,
  });
}

type Released = Awaited<ReturnType<Leases["release"]>>;

export function releaseJob(ref: LeaseRef): PendingJob<Released> {
  return createJob<Released>({
    needs: { sessions: [ref.session] },
    decide: (copy, doubtful) => {
      if (heldLease(copy, ref) === undefined) return doubtful ?? { status: "not_held" };
      copy.dropLease(ref.kind, ref.session);
      return { status: "released" };
    },
    failed: (failure) => failure,
  });
}

// P3: the fence in the row holds the lease, even after it has expired, until somebody takes it over.
function heldLease(copy: WorkingCopy, { kind, session, fence }: LeaseRef) {
  const lease = copy.lease(kind, session);
  return lease?.fence === fence ? lease : undefined;
}

export function blobJob(blob: NewBlob): PendingJob<PutBlobResult> {
  return createJob<PutBlobResult>({
    decide: (copy) => {
      copy.changes.blobs.push(blob);
      return { status: "stored", id: blob.id, size: blob.bytes.byteLength };
    },
    failed: (failure) => failure,
  });
}
