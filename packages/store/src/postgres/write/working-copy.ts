import {
  type ApprovalRow,
  type Commit,
  type CommitNeeds,
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
  type LoadedRows,
} from "@holdfast/engine";
import {
  type BlobId,
  type OwnerId,
  roleOf,
  type Seq,
  type SessionId,
  type ApprovalId,
  type MessageId,
  type RunId,
} from "@holdfast/protocol";
import type { Row } from "../connection.ts";
import { type ChainState, linkPlan, type LinkedPlan, noOutput } from "../../shared/hash-chain.ts";
import { encodeDelta, encodeEvent } from "../events.ts";
import { type LockedSession, usageTable } from "../rows.ts";
import type { InboundDelivery, LoadedGroup, EventPosition } from "./load.ts";

export interface NewBlob {
  readonly owner: OwnerId;
  readonly id: BlobId;
  readonly mediaType: string;
  readonly bytes: Uint8Array;
}

/** What a group writes, collected so that each table takes one statement. A row that changed twice is written once. */
export class Changes {
  readonly created = new Map<SessionId, LockedSession>();
  readonly advanced = new Map<SessionId, LockedSession>();
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
  /** The seq up to which each session's memory is up to date. These marks are deleted before new ones are inserted. */
  readonly remembered = new Map<SessionId, Seq>();
  readonly outbox = new Map<string, OutboxRow>();
  readonly lanes = new Map<string, LaneRow>();
  readonly usage: Row[] = [];
  readonly refs = new Map<string, { owner_id: string; id: string; count: number }>();
  readonly branches: Row[] = [];
  readonly leases = new Map<string, LeaseRow>();
  /** The stored rows of leases that an acquisition replaces. */
  readonly replaced = new Map<string, LeaseRow>();
  readonly released = new Map<string, { session_id: string; kind: string }>();
  readonly fences = new Map<string, { session_id: string; kind: string; fence: number }>();
  readonly blobs: NewBlob[] = [];
  searchable = false;

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

  addPlan(
    plan: Plan,
    linked: LinkedPlan,
    previous: SessionRow | null,
    stored: LockedSession,
  ): void {
    const { session } = plan;
    const { id } = session;
    if (plan.created || this.created.has(id)) this.created.set(id, stored);
    else this.advanced.set(id, stored);
    if (!plan.checkpoint) this.#addListRow(session, previous);
    for (const event of linked.log) this.events.push(encodeEvent(id, event));
    for (const delta of linked.deltas) this.deltas.push(encodeDelta(id, delta));
    if (plan.settles) this.settled.set(id, stored.settledUpto);
    for (const run of plan.runs) this.runs.set(run.id, run);
    for (const input of plan.inputs) this.inputs.set(input.messageId, input);
    for (const approval of plan.approvals) this.approvals.set(approval.id, approval);
    for (const change of plan.memory) this.#addMemory(change);
    for (const chunk of plan.outbox) mergeChunk(this.outbox, chunk);
    for (const lane of plan.lanes) this.lanes.set(`${lane.owner} ${lane.lane}`, lane);
    for (const usage of plan.usage) this.usage.push(usageTable.encode(usage));
    for (const blob of plan.blobs) this.#addRef(session.owner, blob);
    if (plan.created && session.origin !== null) {
      const { sessionId, seq } = session.origin;
      this.branches.push({ log_id: sessionId, session_id: id, upto: seq });
    }
    const titleChanged = previous?.title !== session.title;
    if (titleChanged || plan.log.some((event) => roleOf(event) === "entry")) this.searchable = true;
  }

  #addListRow(session: SessionRow, previous: SessionRow | null): void {
    this.sessions.set(session.id, session);
    const tags = session.tags.length + (previous?.tags.length ?? 0);
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

const newChain: ChainState = { last: null, output: noOutput };

interface SessionState {
  stored: LockedSession | null;
  readonly purged: boolean;
  readonly leases: Map<LeaseKind, LeaseRow>;
  readonly fences: Map<string, number>;
  readonly runs: Map<RunId, RunRow>;
  readonly inputs: Map<MessageId, InputRow>;
  readonly inputsByClient: Map<string, InputRow>;
}

/**
 * The locked rows of a group as its writes change them in turn, so that each sees the ones before it. It doesn't
 * touch the database: `changes` collects what has to be written.
 */
export class WorkingCopy {
  readonly now: number;
  readonly changes = new Changes();
  readonly #locked: ReadonlySet<string>;
  readonly #sessions = new Map<string, SessionState>();
  readonly #storedLeases = new Map<string, LeaseRow>();
  readonly #purged: ReadonlySet<string>;
  readonly #positions: Map<string, EventPosition>;
  readonly #blobs: ReadonlySet<string>;
  /** Across all sessions: an approval's id is unique, whichever session names it. */
  readonly #approvals = new Map<ApprovalId, ApprovalRow>();

  readonly #inbound: Map<string, InboundDelivery>;

  constructor(loaded: LoadedGroup) {
    this.now = loaded.now;
    this.#locked = loaded.locked;
    this.#purged = loaded.purged;
    this.#positions = new Map(loaded.positions);
    this.#blobs = loaded.blobs;
    this.#inbound = new Map(loaded.inbound);
    for (const stored of loaded.sessions) this.#state(stored.row.id).stored = stored;
    for (const lease of loaded.leases) {
      this.#state(lease.session).leases.set(lease.kind, lease);
      this.#storedLeases.set(`${lease.session} ${lease.kind}`, lease);
    }
    for (const { session, kind, fence } of loaded.fences)
      this.#state(session).fences.set(kind, fence);
    for (const run of loaded.runs) this.#state(run.session).runs.set(run.id, run);
    for (const input of loaded.inputs) this.#addInput(input);
    for (const approval of loaded.approvals) this.#approvals.set(approval.id, approval);
  }

  #state(session: string): SessionState {
    let state = this.#sessions.get(session);
    if (state === undefined) {
      state = {
        stored: null,
        purged: this.#purged.has(session),
        leases: new Map(),
        fences: new Map(),
        runs: new Map(),
        inputs: new Map(),
        inputsByClient: new Map(),
      };
      this.#sessions.set(session, state);
    }
    return state;
  }

  #addInput(input: InputRow): void {
    const state = this.#state(input.session);
    state.inputs.set(input.messageId, input);
    state.inputsByClient.set(input.clientId, input);
  }

  /** Whether we have locked the session's row. */
  isLocked(id: SessionId): boolean {
    return this.#locked.has(id);
  }

  session(id: SessionId): LockedSession | null {
    return this.#state(id).stored;
  }

  positionOf(event: string | undefined): EventPosition | undefined {
    return event === undefined ? undefined : this.#positions.get(event);
  }

  /** The input of `decideCommit`. */
  loaded(
    { owner, session }: Pick<Commit, "owner" | "session">,
    { origin, blobs }: Pick<CommitNeeds, "origin" | "blobs">,
  ): LoadedRows {
    const { stored, purged, leases, runs, inputs, inputsByClient } = this.#state(session);
    return {
      session: stored?.row ?? null,
      origin: (origin && this.session(origin)?.row) ?? null,
      purged,
      leases: [...leases.values()],
      runs,
      inputs,
      inputsByClient,
      approvals: this.#approvals,
      inbound: this.#inbound,
      blobs: new Set(blobs.filter((blob) => this.#blobs.has(`${owner} ${blob}`))),
    };
  }

  apply(plan: Plan): void {
    const { session } = plan;
    const state = this.#state(session.id);
    const previous = state.stored;
    const linked = linkPlan(plan, previous?.chain ?? newChain);
    const settledUpto = settledBy(plan, previous?.settledUpto ?? 0);
    const stored = { row: session, settledUpto, chain: linked.state };
    state.stored = stored;
    for (const run of plan.runs) state.runs.set(run.id, run);
    for (const input of plan.inputs) this.#addInput(input);
    for (const approval of plan.approvals) this.#approvals.set(approval.id, approval);
    for (const { inbound, session: answeredBy, delivery } of plan.outbox)
      if (inbound !== null) this.#inbound.set(inbound, { session: answeredBy, delivery });
    for (const { id, seq, at } of [...plan.log, ...plan.deltas]) {
      this.#positions.set(id, { session: session.id, seq, at });
    }
    this.changes.addPlan(plan, linked, previous?.row ?? null, stored);
    if (plan.dropsLeases) for (const kind of state.leases.keys()) this.dropLease(kind, session.id);
  }

  lease(kind: LeaseKind, session: SessionId): LeaseRow | null {
    return this.#state(session).leases.get(kind) ?? null;
  }

  lastFence(kind: LeaseKind, session: SessionId): number {
    return this.#state(session).fences.get(kind) ?? 0;
  }

  setLease(lease: LeaseRow): void {
    const state = this.#state(lease.session);
    const key = `${lease.session} ${lease.kind}`;
    const stored = this.#storedLeases.get(key);
    if (stored !== undefined) this.changes.replaced.set(key, stored);
    state.leases.set(lease.kind, lease);
    this.changes.setLease(lease.session, lease.kind, lease);
    if (state.fences.get(lease.kind) === lease.fence) return;
    state.fences.set(lease.kind, lease.fence);
    this.changes.setFence(lease.session, lease.kind, lease.fence);
  }

  dropLease(kind: LeaseKind, session: SessionId): void {
    this.#state(session).leases.delete(kind);
    this.changes.setLease(session, kind, null);
  }
}

/** Deltas after the settlement in the same commit are open; all before it are settled. */
function settledBy({ settles, session, deltas }: Plan, previous: number): number {
  if (!settles) return previous;
  if (session.openDeltas === 0) return session.head;
  const firstOpen = deltas.at(-session.openDeltas);
  return firstOpen === undefined ? previous : firstOpen.seq - 1;
}
