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
  type RenewResult,
  type PutBlobResult,
} from "@holdfast/engine";
import type { Connection } from "../connection.ts";
import type { GroupNeeds } from "./load.ts";
import type { WorkingCopy, NewBlob } from "./working-copy.ts";
import { type Seq, type SessionId, sessionId } from "@holdfast/protocol";

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

export function commitJob(commit: Commit): PendingJob<CommitResult> {
  const needs = needsOf(commit);
  return createJob<CommitResult>({
    needs: {
      ...needs,
      sessions: [commit.session, ...originOf(commit)],
      events: needs.firstEvent === undefined ? [] : [needs.firstEvent],
    },
    decide: (copy, doubtful) => {
      const again = findEarlierCommit(copy, commit, doubtful);
      if (again !== undefined) return again;
      const decided = decideCommit(
        copy.loaded(commit.owner, commit.session, needs.blobs),
        commit,
        copy.now,
      );
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

/** P1: a commit that was made before, and whose answer got lost, is found by the id of its first event. */
function findEarlierCommit(
  copy: WorkingCopy,
  commit: Commit,
  doubtful: CommitResult | undefined,
): CommitResult | undefined {
  const session = copy.session(commit.session)?.row;
  const placed = copy.positionOf(commit.events[0]?.id);
  if (session?.owner !== commit.owner || placed?.session !== commit.session) return undefined;
  // Our own commit, whose answer the connection lost: to the caller this is the first answer.
  if (doubtful?.status === "committed" && doubtful.first === placed.seq) return doubtful;
  return repeatedCommitResult(commit, { seq: placed.seq as Seq, at: placed.at }, session);
}

/** A branch holds its origin while it is made, so that a purge comes before it or after it. */
function originOf(commit: Commit): readonly SessionId[] {
  const [first] = commit.events;
  if (first?.type !== "session.created") return [];
  const origin = first.data["origin"];
  if (typeof origin !== "object" || origin === null || Array.isArray(origin)) return [];
  const parsed = sessionId.safeParse(origin["sessionId"]);
  return parsed.success ? [parsed.data] : [];
}

export function acquireJob(request: LeaseRequest): PendingJob<LeaseResult> {
  const { kind, session } = request;
  return createJob<LeaseResult>({
    needs: { sessions: [session] },
    decide: (copy) => {
      const stored = copy.session(session);
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

export function renewJob(refs: readonly LeaseRef[], ttlMs: number): PendingJob<RenewResult> {
  return createJob<RenewResult>({
    needs: { sessions: refs.map((ref) => ref.session) },
    decide: (copy) => {
      const until = copy.now + ttlMs;
      const lost: LeaseRef[] = [];
      for (const ref of refs) {
        const lease = heldLease(copy, ref);
        if (lease === undefined) lost.push(ref);
        else copy.setLease({ ...lease, expiresAt: Math.max(lease.expiresAt, until) });
      }
      return { status: "renewed", lost };
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

// P3: whoever's fence stands in the row holds it, also past the expiry, until another has taken it.
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
