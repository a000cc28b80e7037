import type {
  ApprovalRow,
  InputRow,
  LeaseKind,
  LeaseRow,
  LoadedRows,
  Plan,
  RunRow,
} from "@holdfast/engine";
import type { ApprovalId, BlobId, MessageId, OwnerId, RunId, SessionId } from "@holdfast/protocol";

import type { StoredSession } from "../rows/sessions.ts";
import { Changes } from "./changes.ts";
import type { InboundDelivery, LoadedGroup, EventPosition } from "./load.ts";

interface SessionState {
  stored: StoredSession | null;
  readonly purged: boolean;
  readonly leases: Map<LeaseKind, LeaseRow>;
  readonly fences: Map<string, number>;
  readonly runs: Map<RunId, RunRow>;
  readonly inputs: Map<MessageId, InputRow>;
  readonly inputsByClient: Map<string, InputRow>;
}

/**
 * The locked rows of a group as its writes change them one after the other, so that each sees those before it.
 * Nothing reaches the database from here: `changes` tells what has to.
 */
export class WorkingCopy {
  readonly now: number;
  readonly changes = new Changes();
  readonly #sessions = new Map<string, SessionState>();
  readonly #purged: ReadonlySet<string>;
  readonly #placed: Map<string, EventPosition>;
  readonly #blobs: ReadonlySet<string>;
  /** Of all sessions: an id is one approval's, whoever names it. */
  readonly #approvals = new Map<ApprovalId, ApprovalRow>();

  readonly #inbound: Map<string, InboundDelivery>;

  constructor(loaded: LoadedGroup) {
    this.now = loaded.now;
    this.#purged = loaded.purged;
    this.#placed = new Map(loaded.positions);
    this.#blobs = loaded.blobs;
    this.#inbound = new Map(loaded.inbound);
    for (const stored of loaded.sessions) this.#of(stored.row.id).stored = stored;
    for (const lease of loaded.leases) this.#of(lease.session).leases.set(lease.kind, lease);
    for (const { session, kind, fence } of loaded.fences) this.#of(session).fences.set(kind, fence);
    for (const run of loaded.runs) this.#of(run.session).runs.set(run.id, run);
    for (const input of loaded.inputs) this.#keepInput(input);
    for (const approval of loaded.approvals) this.#approvals.set(approval.id, approval);
  }

  #of(session: string): SessionState {
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

  #keepInput(input: InputRow): void {
    const state = this.#of(input.session);
    state.inputs.set(input.messageId, input);
    state.inputsByClient.set(input.clientId, input);
  }

  session(id: SessionId): StoredSession | null {
    return this.#of(id).stored;
  }

  positionOf(event: string | undefined): EventPosition | undefined {
    return event === undefined ? undefined : this.#placed.get(event);
  }

  /** What `decideCommit` wants to see. */
  loaded(owner: OwnerId, id: SessionId, blobs: readonly BlobId[]): LoadedRows {
    const { stored, purged, leases, runs, inputs, inputsByClient } = this.#of(id);
    return {
      session: stored?.row ?? null,
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
    const state = this.#of(session.id);
    const before = state.stored;
    const stored = { row: session, settledUpto: settledBy(plan, before?.settledUpto ?? 0) };
    state.stored = stored;
    for (const run of plan.runs) state.runs.set(run.id, run);
    for (const input of plan.inputs) this.#keepInput(input);
    for (const approval of plan.approvals) this.#approvals.set(approval.id, approval);
    for (const { inbound, session: by, delivery } of plan.outbox)
      if (inbound !== null) this.#inbound.set(inbound, { session: by, delivery });
    for (const { id, seq, at } of [...plan.log, ...plan.deltas]) {
      this.#placed.set(id, { session: session.id, seq, at });
    }
    this.changes.addPlan(plan, before?.row ?? null, stored);
    if (plan.dropsLeases) for (const kind of state.leases.keys()) this.dropLease(kind, session.id);
  }

  lease(kind: LeaseKind, session: SessionId): LeaseRow | null {
    return this.#of(session).leases.get(kind) ?? null;
  }

  lastFence(kind: LeaseKind, session: SessionId): number {
    return this.#of(session).fences.get(kind) ?? 0;
  }

  setLease(lease: LeaseRow): void {
    const state = this.#of(lease.session);
    state.leases.set(lease.kind, lease);
    this.changes.setLease(lease.session, lease.kind, lease);
    if (state.fences.get(lease.kind) === lease.fence) return;
    state.fences.set(lease.kind, lease.fence);
    this.changes.setFence(lease.session, lease.kind, lease.fence);
  }

  dropLease(kind: LeaseKind, session: SessionId): void {
    this.#of(session).leases.delete(kind);
    this.changes.setLease(session, kind, null);
  }
}

/** Deltas that came behind the settlement in the same commit are open; all that came before are settled. */
function settledBy({ settles, session, deltas }: Plan, before: number): number {
  if (!settles) return before;
  if (session.openDeltas === 0) return session.head;
  const firstOpen = deltas.at(-session.openDeltas);
  return firstOpen === undefined ? before : firstOpen.seq - 1;
}
