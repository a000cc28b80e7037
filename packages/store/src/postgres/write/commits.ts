import {
  repeatedCommitResult,
  repeatedInputResult,
  type Commit,
  type CommitResult,
  decideCommit,
  needsOf,
} from "@holdfast/engine";
import { type Seq, type SessionId, sessionId } from "@holdfast/protocol";

import { createJob, type PendingJob } from "./jobs.ts";
import type { WorkingCopy } from "./working-copy.ts";

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
