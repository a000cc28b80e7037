import type { SQLInputValue, StatementSync } from "node:sqlite";
import type { Reads, JournalEvent, Snapshot } from "@holdfast/engine";
import {
  decodeEntryPage,
  decodeEventPage,
  decodeEventRows,
  type ReportDamage,
  noDeltas,
  type ChainPart,
} from "../events.ts";
import type { JournalPart } from "./journal-pages.ts";
import { decodeList } from "./list.ts";
import { type Queries, type RawSnapshot, createQueries } from "./queries.ts";
import type { StoredEvent } from "@holdfast/protocol";
import { StoreFailure } from "@holdfast/engine/ports";
import {
  type Cells,
  connect,
  type Connection,
  type Probe,
  type Row,
  type Statement,
} from "../connection.ts";
import { failureOf, isBusy } from "../errors.ts";
import { blobInStore } from "../../shared/stored-blob.ts";
import type { WorkQueries } from "./derived-rows.ts";

type RunQuery<Names extends keyof Queries> = <Name extends Names>(
  name: Name,
  args: Parameters<Queries[Name]>,
) => Promise<ReturnType<Queries[Name]>>;

interface ReadDeps {
  /** Always in the reader thread. */
  readonly queryInThread: RunQuery<keyof Queries>;
  /** Inline if the result is small, otherwise in the reader thread. */
  readonly queryInline: RunQuery<InlineQuery>;
}

export function createReads({ queryInThread, queryInline }: ReadDeps, report: ReportDamage): Reads {
  return {
    session: (...args) => queryInline("session", args),
    sessions: async (owner, query) =>
      decodeList(await queryInline("sessions", [owner, query]), query),
    listed: (...args) => queryInline("listed", args),
    events: async (...args) => decodeEventPage(await queryInline("events", args), report),
    entries: async (...args) => decodeEntryPage(await queryInline("entries", args), report),
    snapshot: (...args) =>
      readSnapshot(
        {
          snapshot: () => queryInline("snapshot", args),
          deltas: (from) => queryInThread("deltas", [from]),
        },
        report,
      ),
    event: async (...args) =>
      decodeEventRows(await queryInThread("event", args), report)[0] ?? null,
    run: (...args) => queryInline("run", args),
    lane: (...args) => queryInline("lane", args),
    lanes: (...args) => queryInline("lanes", args),
    // A session has few rows, but the query across sessions may return a whole table.
    outbox: (owner, query) =>
      (query.session === undefined ? queryInThread : queryInline)("outbox", [owner, query]),
    inbound: (...args) => queryInline("inbound", args),
    usage: (...args) => queryInThread("usage", args),
    senderOf: (...args) => queryInThread("senderOf", args),
    usageOfWork: (...args) => queryInThread("usageOfWork", args),
    usageGroups: (...args) => queryInThread("usageGroups", args),
    blob: async (...args) => blobInStore(await queryInThread("blob", args)),
    approval: (...args) => queryInline("approval", args),
    approvals: (...args) => queryInline("approvals", args),
    answered: (...args) => queryInThread("answered", args),
    unremembered: (...args) => queryInThread("unremembered", args),
    memory: (...args) => queryInThread("memory", args),
    approvalsFor: (...args) => queryInline("approvalsFor", args),
  };
}

interface SnapshotDeps {
  readonly snapshot: () => Promise<RawSnapshot | null>;
  readonly deltas: (from: number) => Promise<JournalPart | null>;
}

/**
 * Reads a snapshot whose journal comes in pages. The newest page is decoded here and older ones in the reader thread,
 * so that a long journal blocks the event loop no longer than a short one. Deltas never change, so pages read later
 * still belong to the first snapshot; once they are settled and pruned, the snapshot is read again.
 */
export async function readSnapshot(
  reads: SnapshotDeps,
  report: ReportDamage,
): Promise<Snapshot | null> {
  for (;;) {
    const raw = await reads.snapshot();
    if (raw === null) return null;
    const deltas = raw.deltas === noDeltas ? [] : await decodeDeltas(reads, raw.deltas, report);
    if (deltas === "cleared") continue;
    const { session, run, inbox } = raw;
    const journal = mergeBySeq(decodeEventRows(raw.journal, report), deltas);
    return { session, run, inbox, entries: decodeEntryPage(raw.entries, report), journal };
  }
}

/** Oldest first. */
async function decodeDeltas(
  reads: SnapshotDeps,
  newest: ChainPart,
  report: ReportDamage,
): Promise<readonly JournalEvent[] | "cleared"> {
  const parts: (readonly JournalEvent[])[] = [decodeEventRows(newest.rows.toReversed(), report)];
  let { older } = newest;
  while (older !== null) {
    const part = await reads.deltas(older);
    if (part === null) return "cleared";
    for (const damage of part.damaged) report(damage);
    parts.push(part.events);
    ({ older } = part);
  }
  return parts.toReversed().flat();
}

/** Both are sorted by seq, and the log has few. */
function mergeBySeq(
  log: readonly StoredEvent[],
  deltas: readonly JournalEvent[],
): readonly JournalEvent[] {
  if (deltas.length === 0) return log;
  const journal: JournalEvent[] = [];
  let next = 0;
  for (const delta of deltas) {
    for (let event = log[next]; event !== undefined && event.seq < delta.seq; event = log[next]) {
      journal.push(event);
      next += 1;
    }
    journal.push(delta);
  }
  return journal.concat(log.slice(next));
}

const maxCachedChars = 2 * 1024 * 1024;
/** Every entry counts at least this much: a row takes more memory than its texts. */
const minEntryChars = 1_000;

/** Results that stay valid until somebody writes to the file, so that polling reads it once. */
export class QueryCache {
  readonly #results = new Map<string, { readonly value: unknown }>();
  #version: unknown;
  #chars = 0;

  /** Call with the file's version before each lookup. */
  setDataVersion(version: unknown): void {
    if (version === this.#version) return;
    this.#version = version;
    this.#clear();
  }

  get(key: string): { readonly value: unknown } | undefined {
    return this.#results.get(key);
  }

  set(key: string, value: unknown, length: number): void {
    const chars = key.length + Math.max(length, minEntryChars);
    if (this.#chars + chars > maxCachedChars) this.#clear();
    this.#results.set(key, { value });
    this.#chars += chars;
  }

  #clear(): void {
    this.#results.clear();
    this.#chars = 0;
  }
}

/** Queries of every turn or every poll for work: indexed, and nearly always small. */
export type InlineQuery =
  | keyof WorkQueries
  | "expiredLeases"
  | "undelivered"
  | "outbox"
  | "inbound"
  | "registered"
  | "registeredUnder"
  | "session"
  | "sessions"
  | "listed"
  | "events"
  | "entries"
  | "snapshot"
  | "run"
  | "lane"
  | "lanes"
  | "lease"
  | "request"
  | "approval"
  | "approvals"
  | "approvalsFor";

/** A read of more characters than this is left to the reader thread. */
const maxInlineChars = 384 * 1024;

/** Polls for work: the same query again and again, nearly always with the same result. */
const cachedQueries: ReadonlySet<InlineQuery> = new Set<InlineQuery>([
  "queuedWork",
  "liveWork",
  "untitledWork",
]);

/** Not a failure: the rows are more than may be read inline. */
class TooLargeToInline extends Error {}

/**
 * Reads on the caller's thread. Reading a few rows here is faster than asking the reader thread; a large read is
 * abandoned early, so that it never blocks the event loop.
 */
export class InlineReader {
  readonly #file: string;
  readonly #probe: Probe | undefined;
  #handle: { readonly connection: Connection; readonly queries: Queries } | undefined;
  readonly #cache = new QueryCache();
  #charsLeft = maxInlineChars;

  constructor(file: string, probe?: Probe) {
    this.#file = file;
    this.#probe = probe;
  }

  /** `undefined`: the result is too large, or the file is being recovered. */
  read<Name extends InlineQuery>(
    name: Name,
    args: Parameters<Queries[Name]>,
  ): { readonly value: ReturnType<Queries[Name]> } | undefined {
    this.#charsLeft = maxInlineChars;
    let connection: Connection | undefined;
    try {
      const handle = (this.#handle ??= this.#open());
      connection = handle.connection;
      const query = handle.queries[name] as (...args: unknown[]) => ReturnType<Queries[Name]>;
      const key = cachedQueries.has(name) ? `${name} ${JSON.stringify(args)}` : undefined;
      connection.sql("BEGIN").run();
      if (key === undefined) return { value: query(...args) };
      this.#checkVersion(connection);
      const cached = this.#cache.get(key);
      // The key contains the query's name, so the value has its type.
      if (cached !== undefined) return cached as { readonly value: ReturnType<Queries[Name]> };
      const value = query(...args);
      this.#cache.set(key, value, this.charsRead);
      return { value };
    } catch (error) {
      if (error instanceof TooLargeToInline || isBusy(error)) return undefined;
      const { code, message } = failureOf(error);
      throw new StoreFailure(code, message);
    } finally {
      if (connection?.database.isTransaction) connection.sql("COMMIT").run();
    }
  }

  /**
   * Call inside the transaction, so that the version is that of what is read. This connection never writes, so every
   * change is somebody else's.
   */
  #checkVersion(connection: Connection): void {
    this.#cache.setDataVersion(connection.sql("PRAGMA data_version").get()?.["data_version"]);
  }

  close(): void {
    this.#handle?.connection.close();
    this.#handle = undefined;
  }

  #open(): { readonly connection: Connection; readonly queries: Queries } {
    const connection = connect({ file: this.#file, access: "inline", probe: this.#probe });
    const rowStatements = new Map<string, StatementSync>();
    const arrayStatements = new Map<string, StatementSync>();
    const prepared = (known: Map<string, StatementSync>, text: string): StatementSync => {
      const statement = known.get(text) ?? connection.database.prepare(text);
      if (known === arrayStatements) statement.setReturnArrays(true);
      known.set(text, statement);
      return statement;
    };
    const statements = new Map<string, Statement>();
    const createStatement = (text: string): Statement => {
      const statement = connection.sql(text);
      return {
        run: (...values) => statement.run(...values),
        get: (...values) => statement.get(...values),
        all: (...values) => this.#collect<Row>(prepared(rowStatements, text), values),
      };
    };
    const limited: Connection = {
      ...connection,
      sql: (text) => {
        const statement = statements.get(text) ?? createStatement(text);
        statements.set(text, statement);
        return statement;
      },
      cells: (text, ...values) => this.#collect<Cells>(prepared(arrayStatements, text), values),
      fewCells: (text, ...values) => {
        const rows = connection.fewCells(text, ...values);
        for (const row of rows) this.#charge(lengthOf(row));
        return rows;
      },
    };
    return { connection, queries: createQueries(limited) };
  }

  #collect<Item extends Row | Cells>(statement: StatementSync, values: SQLInputValue[]): Item[] {
    const items: Item[] = [];
    // `setReturnArrays` doesn't change the method's type.
    for (const item of statement.iterate(...values) as Iterable<unknown> as Iterable<Item>) {
      this.#charge(lengthOf(Array.isArray(item) ? item : Object.values(item)));
      items.push(item);
    }
    return items;
  }

  /** Of the last read. */
  get charsRead(): number {
    return maxInlineChars - this.#charsLeft;
  }

  #charge(chars: number): void {
    this.#charsLeft -= chars;
    if (this.#charsLeft < 0) throw new TooLargeToInline();
  }
}

function lengthOf(values: readonly unknown[]): number {
  let length = 0;
  for (const value of values)
    if (typeof value === "string" || value instanceof Uint8Array) length += value.length;
  return length;
}
