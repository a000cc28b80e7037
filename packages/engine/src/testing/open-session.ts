import { strict as assert } from "node:assert";

import type {
  EventData,
  NewEvent,
  OwnerId,
  RunId,
  SessionId,
  StoredEvent,
} from "@holdfast/protocol";

import type {
  Commit,
  CommitResult,
  Committed,
  EntryQuery,
  EventPage,
  EventQuery,
  LeaseKind,
  LeaseRow,
  RefusalCode,
  SessionRow,
  Snapshot,
  Store,
} from "../ports/index.ts";
import {
  aCommit,
  aHolder,
  anOwner,
  aRunId,
  aRunState,
  aSession,
  at,
  aUserMessage,
} from "./factories.ts";

export type CommitRest = Omit<Commit, "owner" | "session" | "events">;

/** What tests do with one session, in few words. Everything that can go wrong fails the test on the spot. */
export class OpenSession {
  readonly owner: OwnerId;
  readonly session: SessionId;
  readonly store: Store;

  constructor(store: Store, { owner, session }: { owner: OwnerId; session: SessionId }) {
    this.store = store;
    this.owner = owner;
    this.session = session;
  }

  /** The same session through another handle. */
  through(store: Store): OpenSession {
    return new OpenSession(store, this);
  }

  send(events: readonly NewEvent[], rest: CommitRest = {}): Promise<CommitResult> {
    return this.store.commit(aCommit(this, events, rest));
  }

  async commit(events: readonly NewEvent[], rest: CommitRest = {}): Promise<Committed> {
    return committed(await this.send(events, rest));
  }

  /** Sends a commit that has to be refused for this reason, and leave everything as it was. */
  async refuses(
    code: RefusalCode,
    events: readonly NewEvent[],
    rest: CommitRest = {},
  ): Promise<void> {
    const before = await this.store.reads.session(this.owner, this.session);
    assertRefused(await this.send(events, rest), code);
    same(await this.store.reads.session(this.owner, this.session), before);
  }

  async row(): Promise<SessionRow> {
    return present(await this.store.reads.session(this.owner, this.session));
  }

  async page(query: Partial<EventQuery> = {}): Promise<EventPage> {
    const { owner, session } = this;
    const asked = { after: at(0), limit: 10_000, ...query };
    return present(await this.store.reads.events(owner, session, asked));
  }

  async events(query: Partial<EventQuery> = {}): Promise<readonly StoredEvent[]> {
    return (await this.page(query)).events;
  }

  async entries(query: Partial<EntryQuery> = {}): Promise<readonly StoredEvent[]> {
    const { owner, session } = this;
    const page = await this.store.reads.entries(owner, session, { limit: 10_000, ...query });
    return present(page).entries;
  }

  async snapshot(query: Partial<EntryQuery> = {}): Promise<Snapshot> {
    const { owner, session } = this;
    return present(await this.store.reads.snapshot(owner, session, { limit: 100, ...query }));
  }

  /** Takes a lease, as a new holder unless one is given. */
  async lease(kind: LeaseKind = "run", holder = aHolder(), ttlMs = 30_000): Promise<LeaseRow> {
    const { session } = this;
    const result = await this.store.leases.acquire({ kind, session, holder, ttlMs });
    assert.equal(result.status, "acquired");
    return result.lease;
  }

  /** Claims the session for a run: the lease, the state, the message that it answers. */
  async startRun(text = "Hello"): Promise<{ runId: RunId; under: NonNullable<Commit["under"]> }> {
    const runId = aRunId();
    const { fence } = await this.lease();
    const under = { lease: "run", fence } as const;
    await this.commit(
      [
        aRunState(runId, "claimed"),
        aUserMessage(text, undefined, runId),
        aRunState(runId, "running"),
      ],
      { under },
    );
    return { runId, under };
  }
}

export async function openSession(
  store: Store,
  settings: EventData<"session.created"> = {},
  owner: OwnerId = anOwner(),
): Promise<OpenSession> {
  const commit = aSession(settings, owner);
  committed(await store.commit(commit));
  return new OpenSession(store, commit);
}

export function committed(result: CommitResult): Committed {
  assert.equal(result.status, "committed", JSON.stringify(result));
  return result;
}

export function assertRefused(result: CommitResult, code: RefusalCode): void {
  assert.equal(result.status, "refused", JSON.stringify(result));
  assert.equal("code" in result && result.code, code, JSON.stringify(result));
}

export function present<T>(value: T | null | undefined): T {
  assert.ok(value !== null && value !== undefined, "expected to find something");
  return value;
}

/** Equal as JSON: a field that is absent and one that is undefined are the same. */
export function same(actual: unknown, expected: unknown, message?: string): void {
  assert.deepEqual(plain(actual), plain(expected), message);
}

function plain(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value ?? null));
}

export function seqsOf(events: readonly StoredEvent[]): number[] {
  return events.map((event) => event.seq);
}

export function textsOf(events: readonly StoredEvent[]): string[] {
  return events.map((event) => {
    const { parts, text } = event.data as {
      parts?: { text?: string; output?: string }[];
      text?: string;
    };
    return text ?? parts?.map((part) => part.text ?? part.output ?? "").join("") ?? event.type;
  });
}
