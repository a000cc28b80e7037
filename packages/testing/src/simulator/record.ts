import {
  type CallId,
  type EventId,
  type Fence,
  type MessageId,
  type NewEvent,
  type OwnerId,
  type RunId,
  type Seq,
  type SessionId,
  type StoredEvent,
  decodeEvent,
  type KnownEvent,
} from "@holdfast/protocol";
import { type Store, type Derived } from "@holdfast/engine";
import { fsckFindings } from "../conformance/harness.ts";

/** A commit that the store says it made, recorded below all injected faults. */
export interface RecordedCommit {
  readonly step: number;
  readonly host: string;
  readonly session: SessionId;
  readonly fence: Fence | null;
  readonly events: readonly StoredEvent[];
}

export interface AcquiredLease {
  readonly step: number;
  readonly host: string;
  readonly session: SessionId;
  readonly fence: Fence;
}

/** What a client was told about its message. */
export interface AcknowledgedInput {
  readonly step: number;
  readonly session: SessionId;
  readonly clientId: string;
  readonly messageId: MessageId;
  readonly runId: RunId;
  readonly seq: Seq;
}

/** What a tool did outside of the simulation. */
export interface ToolEffect {
  readonly step: number;
  readonly callId: CallId;
  readonly replay: "never" | "safe";
  readonly host: string;
  outcome: "running" | "ok" | "failed" | "cancelled";
}

/** An event that a reader was shown. */
export interface ShownEvent {
  readonly step: number;
  readonly reader: string;
  readonly session: SessionId;
  readonly event: StoredEvent;
}

export interface SimProblem {
  /** The promise that was broken. */
  readonly promise: string;
  readonly text: string;
}

/**
 * Everything that the checker judges by: what the store did, what clients were told, what readers saw, what tools
 * did. Nothing here comes from the code under test.
 */
export class SimRecord {
  readonly owner: OwnerId;
  readonly commits: RecordedCommit[] = [];
  readonly leases: AcquiredLease[] = [];
  readonly acknowledged: AcknowledgedInput[] = [];
  /** Runs that a client asked to cancel, and those whose cancel was acknowledged. */
  readonly cancelAsked = new Set<RunId>();
  readonly cancelled = new Set<RunId>();
  /** Sessions whose run, whichever it was, somebody wanted out of the way. */
  readonly interrupted = new Set<SessionId>();
  readonly effects: ToolEffect[] = [];
  readonly shown: ShownEvent[] = [];
  /** What a host's disk acknowledged while the store was away. */
  readonly spilled: { readonly session: SessionId; readonly event: NewEvent }[] = [];
  /** Broken promises noticed on the way. */
  readonly noticed: SimProblem[] = [];
  readonly #stored = new Map<EventId, StoredEvent>();

  constructor(owner: OwnerId) {
    this.owner = owner;
  }

  addCommit(commit: RecordedCommit): void {
    this.commits.push(commit);
    for (const event of commit.events) this.#stored.set(event.id, event);
  }

  /** The event as it was stored. */
  stored(id: EventId): StoredEvent | undefined {
    return this.#stored.get(id);
  }
}

/** Records the store's requests and answers, directly on the store and below all faults. */
export function recordedStore(
  inner: Store,
  { record, host, step }: { record: SimRecord; host: string; step: () => number },
): Store {
  return {
    ...inner,
    async commit(commit) {
      const result = await inner.commit(commit);
      if (result.status !== "committed" || result.repeated !== undefined) return result;
      const { session, events, under, touch } = commit;
      record.addCommit({
        step: step(),
        host,
        session,
        fence: under?.fence ?? null,
        events: events.map((event, index) => ({
          ...event,
          seq: (result.first + index) as Seq,
          at: result.at,
          ...(touch === "quiet" && { quiet: true as const }),
        })),
      });
      return result;
    },
    leases: {
      ...inner.leases,
      async acquire(request) {
        const result = await inner.leases.acquire(request);
        if (result.status === "acquired" && request.kind === "run") {
          const { session, fence } = result.lease;
          record.leases.push({ step: step(), host, session, fence });
        }
        return result;
      },
    },
  };
}

/** One session as stored when everything is over. */
export interface FinalSession extends Derived {
  readonly id: SessionId;
  /** Its log, including settled deltas that aren't deleted yet. */
  readonly log: readonly KnownEvent[];
}

export interface FinalStore {
  readonly sessions: readonly FinalSession[];
  readonly fsck: readonly string[];
}

/** Reads the store itself, bypassing all wrappers. */
export async function readFinalStore(store: Store): Promise<FinalStore> {
  const sessions: FinalSession[] = [];
  for await (const { id } of store.audit.sessions()) {
    const log: KnownEvent[] = [];
    for await (const { event } of store.audit.events(id)) {
      const decoded = event && decodeEvent(event);
      if (decoded?.kind === "known") log.push(decoded.event);
    }
    const derived = await store.audit.derived(id);
    if (derived !== null) sessions.push({ id, log, ...derived });
  }
  return { sessions, fsck: await fsckFindings(store) };
}
