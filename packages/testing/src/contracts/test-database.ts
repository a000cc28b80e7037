import type { Holder, Liveness, SpillStore, Store } from "@holdfast/engine";
import type { LaneKey, OwnerId, SessionId } from "@holdfast/protocol";

import type { Peer, PeerKind } from "./peer.ts";

/**
 * A kind of store, passed to a contract suite. The type of its parameter says what a suite needs beyond `TestDatabase`,
 * so a store that supports less runs fewer suites.
 */
export interface TestDatabaseFactory<Database extends TestDatabase = TestDatabase> {
  /** Shown in the titles. */
  readonly name: string;
  readonly identity: ProcessIdentity;
  readonly spills: SpillFolders;
  /** Empty data for one suite. */
  readonly create: () => Promise<Database>;
}

/** Who holds a lease, and whether a holder is dead. `@holdfast/store/identity` has both. */
export interface ProcessIdentity {
  readonly currentHolder: (agent: string) => Holder;
  readonly createLiveness: () => Liveness;
}

/** Where runs continue while the store is away. `@holdfast/store/spill` has one. */
export interface SpillFolders {
  readonly open: (folder: string) => Promise<SpillStore>;
  /** The names of its journals' files. */
  readonly files: (folder: string) => readonly string[];
  /** Damages one of a file's two headers, repeats its last record, and appends the beginning of that record. */
  readonly damage: (file: string) => void;
}

export interface OpenOptions {
  /** Milliseconds added to the store's clock. */
  readonly clockOffset?: () => number;
  /** May be called with rows that can't be decoded. */
  readonly onDamage?: (damage: { readonly seq: number }) => void;
}

export interface TestDatabase {
  /** A store with connections of its own. The caller closes it. */
  readonly open: (options?: OpenOptions) => Promise<Store>;
  readonly drop: () => Promise<void>;
}

/** Data that can be inspected without the store. */
export interface InspectableDatabase extends TestDatabase {
  /** The event ids in all logs, except those of deltas. */
  readonly storedEventIds: () => Promise<ReadonlySet<string>>;
}

/** Data that several processes and threads can use at once. */
export interface SharedDatabase extends TestDatabase {
  /** Another process or thread with a store on this data. */
  readonly startPeer: (kind: PeerKind) => Promise<Peer>;
}

/** A blocked write of another process, none of which is durable yet. */
export interface HeldWrite {
  /** Resolves when a write has got there. */
  reached(): Promise<void>;
  release(): Promise<void>;
}

export interface HoldableDatabase extends SharedDatabase {
  /** A process whose writes can be held. */
  readonly startHoldablePeer: () => Promise<Peer>;
  readonly holdWrites: (session: SessionId) => Promise<HeldWrite>;
  /** A holdable peer begins a write, and a take-over of the session commits before it. */
  readonly overtakeWrite: <Written, Taken>(
    session: SessionId,
    write: () => Promise<Written>,
    takeOver: () => Promise<Taken>,
  ) => Promise<{ readonly written: Promise<Written>; readonly taken: Promise<Taken> }>;
}

/** Data whose writes can be observed by table. */
export interface ObservableDatabase extends SharedDatabase {
  readonly openObserved: (options?: OpenOptions) => Promise<ObservedStore>;
  /** The tables that text, a tool and usage of a run are written to, sorted. */
  readonly checkpointTables: readonly string[];
  /** The stored rows behind the list of sessions. A rewritten row differs. */
  readonly listRows: () => Promise<unknown>;
}

export interface ObservedStore {
  readonly store: Store;
  /** Starts observing; the returned function gives the tables written since, sorted. */
  readonly observe: () => Promise<() => Promise<readonly string[]>>;
}

export interface FailingDatabase extends SharedDatabase {
  /** From now on the database itself fails writes with this text, as with a full disk or a broken page. */
  readonly failWritesWith: (text: string) => Promise<void>;
}

/** A session whose rows are damaged. */
export interface DamagedSession {
  readonly owner: OwnerId;
  readonly session: SessionId;
  readonly lane: LaneKey;
}

export type Damage =
  | "a title that nobody set"
  | "a run in another state"
  | "a missing input"
  | "a missing cost"
  | "a cost that never occurred"
  | "a missing lane"
  | "miscounted references to a blob"
  | "a head below the log"
  | "a missing event"
  | "a changed payload"
  | "a changed payload whose checksum fits"
  | "an event with another time"
  | "an event without its link"
  | "an event that its own schema refuses"
  | "a seq issued twice"
  | "a blob whose bytes have changed"
  | "a lease that never ends"
  | "a row of a missing session"
  | "missing runs"
  | "another preview and message count"
  | "a purged log without its rows";

/** Data that can be damaged without the store. */
export interface DamageableDatabase extends TestDatabase {
  readonly damage: (what: Damage, at: DamagedSession) => Promise<void>;
  /** Row counts, taken without the store; events include deltas. */
  readonly count: (rows: "sessions" | "events") => Promise<number>;
}

/** What a piece of work made the database do, as counts that don't depend on the machine's speed. */
export interface DatabaseWork {
  /** Statements that ran, or rows written. */
  readonly writes: number;
  /** Pages written and rows returned, or rows read. */
  readonly touched: number;
  /** What was scanned or sorted without an index. */
  readonly scanned: readonly string[];
}

export type UseStore<Result> = (store: Store) => Promise<Result>;

/** Opens its own store to count on; `close` closes it. */
export interface WorkCounter {
  count(work: UseStore<unknown>): Promise<DatabaseWork>;
  /** Runs without counting, through another store, so that the next counted work starts idle and with cold caches. */
  prepare<Result>(work: UseStore<Result>): Promise<Result>;
  close(): Promise<void>;
}

/** Rows to add without the store, whose rules aren't under test then. */
export interface Growth {
  /** Copies of this session. */
  readonly sessions: { readonly like: SessionId; readonly count: number };
  /** Copies of the last message of this session, which has a run. */
  readonly messages: { readonly in: SessionId; readonly count: number };
  /** Copies of the rows that this session's run has besides its log, if a query plan depends on their number. */
  readonly runs: { readonly like: SessionId; readonly count: number };
}

/** Data that can be made large, and whose work can be counted. */
export interface CountableDatabase extends TestDatabase {
  readonly countWork: () => Promise<WorkCounter>;
  readonly grow: (growth: Growth) => Promise<void>;
  /** Damages a session's messages up to this seq, so that they can't be decoded. */
  readonly damageMessages: (session: SessionId, upTo: number) => Promise<void>;
}
