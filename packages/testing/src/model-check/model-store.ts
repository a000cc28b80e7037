import {
  type EventId,
  type MessageId,
  type OwnerId,
  type RunId,
  type RunState,
  type SessionId,
  terminalStates,
} from "@holdfast/protocol";

import type { Committed, Expectation, LeaseKind, RefusalCode } from "@holdfast/engine";
import { type Action, isEntry } from "./actions.ts";
import { type RecordedAction, ModelSession } from "./model-session.ts";

export interface CommitAttempt {
  readonly owner: OwnerId;
  readonly session: SessionId;
  readonly firstEvent: EventId;
  readonly actions: readonly Action[];
  readonly under?: { readonly kind: LeaseKind; readonly fence: number };
  readonly expect?: Pick<Expectation, "revision" | "head" | "idle" | "uncompacted">;
  readonly quiet: boolean;
}

export type Outcome =
  | RefusalCode
  | Pick<Committed, "first" | "last" | "at" | "version" | "revision" | "repeated" | "input">;

/**
 * What a store should answer, as simply as possible: lists that are scanned, nothing cached, nothing shared with the
 * code that it judges. Only times are taken from the store's answers.
 */
export class ModelStore {
  readonly sessions = new Map<SessionId, ModelSession>();
  readonly #committed = new Map<
    EventId,
    { session: SessionId; outcome: Exclude<Outcome, RefusalCode> }
  >();
  readonly lanes = new Map<string, SessionId>();
  /** In hours. */
  now = 0;

  living(owner?: OwnerId): ModelSession[] {
    const all = [...this.sessions.values()].filter((session) => !session.purged);
    return owner === undefined ? all : all.filter((session) => session.owner === owner);
  }

  commit(attempt: CommitAttempt, at: number): Outcome {
    const { owner, session: id, actions } = attempt;
    const known = this.sessions.get(id);
    const mine = known !== undefined && !known.purged && known.owner === owner ? known : undefined;
    const before = this.#committed.get(attempt.firstEvent);
    if (mine !== undefined && before?.session === id) {
      const { version, revision } = mine;
      return { ...before.outcome, version, revision, repeated: true };
    }
    if (actions[0]?.do === "create") {
      if (known !== undefined) return "session_exists";
      const { origin } = actions[0];
      const read = origin && this.sessions.get(origin.sessionId);
      if (origin && (read?.owner !== owner || read.purged)) return "session_not_found";
      const made = new ModelSession(id, owner);
      this.sessions.set(id, made);
      return this.#write(made, attempt, at);
    }
    if (mine === undefined) return "session_not_found";
    return (
      this.#refusal(mine, attempt) ?? this.#again(mine, attempt) ?? this.#write(mine, attempt, at)
    );
  }

  /** Checks in this order: existence, fence, repetition, expectations, order of events. */
  #refusal(
    session: ModelSession,
    { actions, under, expect = {} }: CommitAttempt,
  ): RefusalCode | undefined {
    const restores = actions[0]?.do === "restore";
    if (session.trashed && !restores) return "session_trashed";
    if (!session.trashed && restores) return "session_not_trashed";
    if (under !== undefined && session.leases.get(under.kind)?.fence !== under.fence)
      return "fenced";
    const clashing = actions.some(
      (action) =>
        action.do === "accept" && this.#earlier(session, action.clientId, action.text) === "other",
    );
    if (clashing) return "idempotency_conflict";
    if (
      actions.some(
        (action) =>
          action.do === "accept" && this.#earlier(session, action.clientId, action.text) === "same",
      )
    )
      return undefined;
    if (expect.revision !== undefined && expect.revision !== session.revision)
      return "revision_conflict";
    if (expect.head !== undefined && expect.head !== session.head) return "head_moved";
    if (expect.idle && session.live !== null) return "run_live";
    const compacting = this.holder(session, "compaction") !== null;
    if ((expect.idle || expect.uncompacted) && compacting) return "compaction_live";
    return this.#disorder(session, actions);
  }

  #earlier(session: ModelSession, clientId: string, text: string): "same" | "other" | undefined {
    const found = session.all("accept").find(({ action }) => action.clientId === clientId);
    if (found === undefined) return undefined;
    return found.action.text === text ? "same" : "other";
  }

  /** Checks each action in the session that the ones before it leave. */
  #disorder(session: ModelSession, actions: readonly Action[]): RefusalCode | undefined {
    let openAtFirst: number | undefined;
    let stoodFor = 0;
    for (const [index, action] of actions.entries()) {
      const trial = session.after(actions.slice(0, index));
      if (action.do === "blunder") return "invalid_event";
      const astray =
        action.do === "run" ? runRefusal(trial, action.runId, action.state) : undefined;
      if (astray !== undefined) return astray;
      const unfit =
        approvalRefusal(trial, action) ?? memoryRefusal(trial, action, actions.slice(0, index));
      if (unfit !== undefined) return unfit;
      if (action.do === "accept" && action.inbound && this.#isTaken(action.inbound.key))
        return "inbound_taken";
      const lost = action.do === "remove" ? inputRefusal(trial, action.messageId) : undefined;
      if (lost !== undefined) return lost;
      if (
        action.do === "run" &&
        action.state === "claimed" &&
        this.#mustWait(session, trial, action.runId)
      )
        return "history_live";
      if (action.do === "answer" && action.settles !== undefined) {
        openAtFirst ??= trial.open.length;
        stoodFor += action.settles.reduce((sum, [from, to]) => sum + to - from + 1, 0);
      }
    }
    return openAtFirst !== undefined && openAtFirst !== stoodFor ? "deltas_unaccounted" : undefined;
  }

  /** An inbound message is accepted once, wherever its lane pointed then. */
  #isTaken(key: string): boolean {
    return this.living().some((session) =>
      session.all("accept").some(({ action }) => action.inbound?.key === key),
    );
  }

  /** Nothing new is claimed while a cut is pending. */
  #mustWait(session: ModelSession, trial: ModelSession, runId: RunId): boolean {
    const isNew = [undefined, "queued"].includes(trial.stateOf(runId));
    return isNew && this.holder(session, "history") !== null;
  }

  #again(session: ModelSession, { actions }: CommitAttempt): Outcome | undefined {
    const accepts = actions.filter((action) => action.do === "accept");
    const found = session
      .all("accept")
      .find(({ action }) => accepts.some((other) => other.clientId === action.clientId));
    if (found === undefined) return undefined;
    const { seq, at, action } = found;
    const { version, revision } = session;
    const input = { messageId: action.messageId, runId: action.runId, seq };
    return { first: seq, last: seq, at, version, revision, repeated: true, input } as Outcome;
  }

  #write(
    session: ModelSession,
    { actions, quiet, firstEvent }: CommitAttempt,
    at: number,
  ): Outcome {
    const begin = actions[0]?.do === "create" ? (actions[0].origin?.seq ?? 0) : session.head;
    const recorded = actions.map((action, index): RecordedAction => ({
      seq: begin + 1 + index,
      at,
      quiet,
      action,
    }));
    session.actions.push(...recorded);
    for (const { action } of recorded)
      if (action.do === "bind") this.lanes.set(`${session.owner} ${action.lane}`, session.id);
    if (session.trashed) session.leases.clear();
    const accepted = recorded.find(({ action }) => action.do === "accept");
    const { version, revision, head } = session;
    const outcome = {
      first: begin + 1,
      last: head,
      at,
      version,
      revision,
      ...(accepted?.action.do === "accept" && {
        input: {
          messageId: accepted.action.messageId,
          runId: accepted.action.runId,
          seq: accepted.seq,
        },
      }),
    } as Exclude<Outcome, RefusalCode>;
    this.#committed.set(firstEvent, { session: session.id, outcome });
    return outcome;
  }

  purge(owner: OwnerId, id: SessionId): "purged" | "session_not_found" | "session_not_trashed" {
    const session = this.sessions.get(id);
    if (session?.owner !== owner) return "session_not_found";
    if (session.purged) return "purged";
    if (!session.trashed) return "session_not_trashed";
    session.purged = true;
    for (const [lane, at] of this.lanes) if (at === id) this.lanes.delete(lane);
    return "purged";
  }

  entries(session: ModelSession): RecordedAction[] {
    return session.ranges.flatMap(({ log = session.id, from, to }) =>
      (this.sessions.get(log)?.actions ?? []).filter(
        ({ seq, action }) => isEntry(action) && seq >= from && seq <= (to ?? Infinity),
      ),
    );
  }

  holder(session: ModelSession, kind: LeaseKind): number | null {
    const lease = session.leases.get(kind);
    return lease !== undefined && lease.until > this.now ? lease.fence : null;
  }

  /** The issued fence, or `held`. */
  acquire(
    session: ModelSession,
    kind: LeaseKind,
    holder: string,
    hours: number,
    replacing?: number,
  ): number | "held" {
    const current = session.leases.get(kind);
    const until = this.now + hours;
    if (current?.holder === holder) {
      session.leases.set(kind, { ...current, until: Math.max(current.until, until) });
      return current.fence;
    }
    const free = current === undefined || current.until <= this.now || current.fence === replacing;
    if (!free) return "held";
    const fence = (session.fences.get(kind) ?? 0) + 1;
    session.fences.set(kind, fence);
    session.leases.set(kind, { fence, holder, until });
    return fence;
  }

  renew(session: ModelSession, kind: LeaseKind, fence: number, hours: number): "renewed" | "lost" {
    const lease = session.leases.get(kind);
    if (lease?.fence !== fence) return "lost";
    session.leases.set(kind, { ...lease, until: Math.max(lease.until, this.now + hours) });
    return "renewed";
  }

  release(session: ModelSession, kind: LeaseKind, fence: number): "released" | "not_held" {
    if (session.leases.get(kind)?.fence !== fence) return "not_held";
    session.leases.delete(kind);
    return "released";
  }
}

/** The states from which a run may enter each non-terminal state; an end can be reached from everywhere, once. */
const allowedFrom: Partial<Record<RunState, readonly (RunState | undefined)[]>> = {
  queued: [undefined],
  claimed: [undefined, "queued", "claimed", "running", "waiting", "paused"],
  running: ["claimed", "running"],
  waiting: ["claimed", "running"],
  paused: ["claimed", "running", "waiting"],
};

function runRefusal(trial: ModelSession, runId: RunId, state: RunState): RefusalCode | undefined {
  const before = trial.stateOf(runId);
  if (before !== undefined && terminalStates.has(before)) return "run_ended";
  if (!terminalStates.has(state)) {
    return allowedFrom[state]?.includes(before) === true ? undefined : "invalid_event";
  }
  if (before === undefined) return "invalid_event";
  const isLive = trial.live?.runId === runId;
  return isLive && trial.open.length > 0 ? "deltas_unaccounted" : undefined;
}

/** Nothing expires here: programs are too short. */
function approvalRefusal(trial: ModelSession, action: Action): RefusalCode | undefined {
  if (action.do === "ask") {
    const state = trial.stateOf(action.runId);
    return state === undefined || terminalStates.has(state) ? "invalid_event" : undefined;
  }
  if (action.do !== "grant") return undefined;
  const stands = trial.approval(action.approvalId);
  if (stands === undefined) return "invalid_event";
  if (stands !== "open") return "approval_answered";
  return action.decision === "expired" ? "invalid_event" : undefined;
}

/**
 * A turn is marked by the commit that completes it, after the completion; a segment ends before its state is
 * recorded.
 */
function memoryRefusal(
  trial: ModelSession,
  action: Action,
  sameCommit: readonly Action[],
): RefusalCode | undefined {
  if (action.do === "remember") return action.upTo > trial.head ? "invalid_event" : undefined;
  if (action.do !== "mark") return undefined;
  const ofRun = sameCommit.filter((other) => "runId" in other && other.runId === action.runId);
  const isCompleted = ofRun.some((other) => other.do === "run" && other.state === "completed");
  const isMarked = ofRun.some((other) => other.do === "mark");
  return isCompleted && !isMarked ? undefined : "invalid_event";
}

/** Only a queued message can be taken back. */
function inputRefusal(trial: ModelSession, messageId: MessageId): RefusalCode | undefined {
  if (trial.waiting.some(({ action }) => action.messageId === messageId)) return undefined;
  const wasAccepted = trial.all("accept").some(({ action }) => action.messageId === messageId);
  return wasAccepted ? "input_claimed" : "message_not_found";
}
