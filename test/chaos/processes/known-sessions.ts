import {
  type ApprovalId,
  type RunId,
  type Seq,
  type SessionId,
  type StoredEvent,
  approvalId,
  terminalStates,
} from "@holdfast/protocol";

export interface KnownSession {
  readonly id: SessionId;
  sent: number;
  isTrashed: boolean;
  /** Runs that were accepted and not seen to end. */
  readonly open: Set<RunId>;
  /** Calls that wait for an approval, as far as known. */
  readonly approvals: Set<ApprovalId>;
  /** Seqs of user messages that were seen: where a cut is possible. */
  readonly messages: Seq[];
}

/** What the clients know about the sessions, to choose their actions. It may be outdated; it proves nothing. */
export class KnownSessions {
  readonly all = new Map<SessionId, KnownSession>();
  /** Those in use at the moment. */
  readonly active: KnownSession[] = [];

  add(id: SessionId): KnownSession {
    const known: KnownSession = {
      id,
      sent: 0,
      isTrashed: false,
      open: new Set(),
      approvals: new Set(),
      messages: [],
    };
    this.all.set(id, known);
    this.active.push(known);
    return known;
  }

  /** Long conversations make every step more expensive, and show nothing that short ones don't. */
  retire(session: KnownSession): void {
    const index = this.active.indexOf(session);
    if (index >= 0) this.active.splice(index, 1);
  }

  learn(session: SessionId, events: readonly StoredEvent[]): void {
    const known = this.all.get(session);
    if (known === undefined) return;
    for (const { type, seq, runId, data } of events) {
      const asked = approvalId.safeParse(data["approvalId"]);
      if (type === "approval.asked" && asked.success) known.approvals.add(asked.data);
      if (type === "approval.answered" && asked.success) known.approvals.delete(asked.data);
      if (type === "message.user") known.messages.push(seq);
      if (type === "session.trashed") known.isTrashed = true;
      if (type === "session.restored") known.isTrashed = false;
      if (type === "run.state" && runId !== undefined && isTerminal(data["state"]))
        known.open.delete(runId);
    }
  }
}

export function isTerminal(state: unknown): boolean {
  return [...terminalStates].some((terminal) => terminal === state);
}
