import {
  type ApprovalRow,
  type InputRow,
  type LaneRow,
  type LeaseKind,
  type LeaseRow,
  type MarkRow,
  type MemoryChange,
  type MemoryTryRow,
  mergeChunk,
  type OutboxRow,
  type Plan,
  type RunRow,
  type SessionRow,
} from "@holdfast/engine";
import { type BlobId, type OwnerId, roleOf, type Seq, type SessionId } from "@holdfast/protocol";

import type { Row } from "../connection.ts";
import { encodeDelta, encodeEvent } from "../rows/events.ts";
import { encodeUsage } from "../rows/tables.ts";
import { type StoredSession } from "../rows/sessions.ts";

export interface NewBlob {
  readonly owner: OwnerId;
  readonly id: BlobId;
  readonly mediaType: string;
  readonly bytes: Uint8Array;
}

/** What a group writes, gathered so that each table takes one statement. A row that changed twice is written once. */
export class Changes {
  readonly created = new Map<SessionId, StoredSession>();
  readonly advanced = new Map<SessionId, StoredSession>();
  readonly sessions = new Map<SessionId, SessionRow>();
  readonly retagged = new Set<SessionId>();
  readonly events: Row[] = [];
  readonly deltas: Row[] = [];
  readonly settled = new Map<SessionId, number>();
  readonly runs = new Map<string, RunRow>();
  readonly inputs = new Map<string, InputRow>();
  readonly approvals = new Map<string, ApprovalRow>();
  readonly marks = new Map<string, MarkRow>();
  readonly memoryTries = new Map<SessionId, MemoryTryRow>();
  /** Up to where each session has nothing more to remember. These go before what is put. */
  readonly remembered = new Map<SessionId, Seq>();
  readonly outbox = new Map<string, OutboxRow>();
  readonly lanes = new Map<string, LaneRow>();
  readonly usage: Row[] = [];
  readonly refs = new Map<string, { owner_id: string; id: string; count: number }>();
  readonly branches: Row[] = [];
  readonly leases = new Map<string, LeaseRow>();
  readonly released = new Map<string, { session_id: string; kind: string }>();
  readonly fences = new Map<string, { session_id: string; kind: string; fence: number }>();
  readonly blobs: NewBlob[] = [];
  readonly searchable = new Set<SessionId>();

  get isEmpty(): boolean {
    return (
      this.created.size + this.advanced.size + this.blobs.length === 0 &&
      this.leases.size + this.released.size === 0
    );
  }

  /** The sessions that got new events. */
  get changedSessions(): readonly SessionId[] {
    return [...this.created.keys(), ...this.advanced.keys()];
  }

  addPlan(plan: Plan, before: SessionRow | null, stored: StoredSession): void {
    const { session } = plan;
    const { id } = session;
    if (plan.created || this.created.has(id)) this.created.set(id, stored);
    else this.advanced.set(id, stored);
    if (!plan.checkpoint) this.#addListRow(session, before);
    for (const event of plan.log) this.events.push(encodeEvent(id, event));
    for (const event of plan.deltas) this.deltas.push(encodeDelta(id, event));
    if (plan.settles) this.settled.set(id, stored.settledUpto);
    for (const run of plan.runs) this.runs.set(run.id, run);
    for (const input of plan.inputs) this.inputs.set(input.messageId, input);
    for (const approval of plan.approvals) this.approvals.set(approval.id, approval);
    for (const change of plan.memory) this.#addMemory(change);
    for (const chunk of plan.outbox) mergeChunk(this.outbox, chunk);
    for (const lane of plan.lanes) this.lanes.set(`${lane.owner} ${lane.lane}`, lane);
    for (const used of plan.usage) this.usage.push(encodeUsage(used));
    for (const blob of plan.blobs) this.#addRef(session.owner, blob);
    if (plan.created && session.origin !== null) {
      const { sessionId, seq } = session.origin;
      this.branches.push({ log_id: sessionId, session_id: id, upto: seq });
    }
    const titled = before?.title !== session.title;
    if (titled || plan.log.some((event) => roleOf(event) === "entry")) this.searchable.add(id);
  }

  #addListRow(session: SessionRow, before: SessionRow | null): void {
    this.sessions.set(session.id, session);
    const tags = session.tags.length + (before?.tags.length ?? 0);
    if (tags > 0) this.retagged.add(session.id);
  }

  #addMemory(change: MemoryChange): void {
    switch (change.do) {
      case "mark":
        this.marks.set(`${change.mark.session} ${change.mark.seq}`, change.mark);
        return;
      case "try":
        this.memoryTries.set(change.trying.session, change.trying);
        return;
      case "forget": {
        const { session, upTo } = change;
        for (const [key, mark] of this.marks)
          if (mark.session === session && mark.seq <= upTo) this.marks.delete(key);
        this.memoryTries.delete(session);
        this.remembered.set(session, Math.max(upTo, this.remembered.get(session) ?? 0) as Seq);
      }
    }
  }

  #addRef(owner: OwnerId, id: BlobId): void {
    const key = `${owner} ${id}`;
    const count = (this.refs.get(key)?.count ?? 0) + 1;
    this.refs.set(key, { owner_id: owner, id, count });
  }

  setLease(session: SessionId, kind: LeaseKind, lease: LeaseRow | null): void {
    const key = `${session} ${kind}`;
    this.leases.delete(key);
    this.released.delete(key);
    if (lease === null) this.released.set(key, { session_id: session, kind });
    else this.leases.set(key, lease);
  }

  setFence(session: SessionId, kind: LeaseKind, fence: number): void {
    this.fences.set(`${session} ${kind}`, { session_id: session, kind, fence });
  }
}
