import { type ApprovalView, isNothingNew, type SessionView } from "@holdfast/protocol";

/** Something that a person who looks elsewhere should know. */
export interface AttentionEvent {
  readonly kind: "approval" | "question" | "plan" | "done" | "failed";
  /** Two events with one tag are one notification. */
  readonly tag: string;
  readonly sessionId: SessionView["id"];
}

/** A shorter answer needs no notification. */
const longRunMs = 10_000;

type Waiting = Pick<ApprovalView, "approvalId" | "sessionId" | "kind" | "plan">;

/** The approvals, questions and plans that were not there before. */
export function newlyWaiting(
  before: readonly Waiting[],
  now: readonly Waiting[],
): readonly AttentionEvent[] {
  const known = new Set(before.map(({ approvalId }) => approvalId));
  return now
    .filter(({ approvalId }) => !known.has(approvalId))
    .map(({ approvalId, sessionId, kind, plan }) => ({
      kind: plan === true ? "plan" : kind === "question" ? "question" : "approval",
      tag: approvalId,
      sessionId,
    }));
}

type Listed = Pick<SessionView, "id" | "liveRun" | "lastState" | "preview">;

export interface RunWatch {
  /** Takes the list as it is now, and returns the long runs that have ended since the last call. */
  ended(sessions: readonly Listed[], now: number): readonly AttentionEvent[];
}

/** Watches the list for runs that end. A run that waits for a person has not ended. */
export function createRunWatch(): RunWatch {
  const startedAt = new Map<string, { readonly run: string; readonly at: number }>();
  return {
    ended(sessions, now) {
      return sessions.flatMap(({ id, liveRun, lastState, preview }): AttentionEvent[] => {
        const known = startedAt.get(id);
        if (liveRun !== null) {
          if (known?.run !== liveRun) startedAt.set(id, { run: liveRun, at: now });
          return [];
        }
        startedAt.delete(id);
        if (known === undefined || now - known.at < longRunMs || lastState === "cancelled")
          return [];
        const kind = lastState === "completed" ? "done" : "failed";
        if (kind === "done" && isNothingNew(preview)) return [];
        return [{ kind, tag: known.run, sessionId: id }];
      });
    },
  };
}
