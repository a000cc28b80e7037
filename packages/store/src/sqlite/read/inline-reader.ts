import type { SQLInputValue, StatementSync } from "node:sqlite";
import { StoreFailure } from "@holdfast/engine/ports";
import { type Cells, connect, type Connection, type Row, type Statement } from "../connection.ts";
import { failureOf, isBusy } from "../errors.ts";
import { createQueries, type Queries } from "./queries.ts";
import type { WorkQueries } from "./derived-rows.ts";

/** So many characters of answers are kept. */
const maxCachedChars = 2 * 1024 * 1024;
/** What each is counted for at least: there is more to a row than its lists. */
const minEntryChars = 1_000;

/** Answers that hold as long as nobody has written to the file: who looks again and again reads it once. */
export class QueryCache {
  readonly #answers = new Map<string, { readonly value: unknown }>();
  #version: unknown;
  #length = 0;

  /** To be told the file's version before each look. */
  setDataVersion(version: unknown): void {
    if (version === this.#version) return;
    this.#version = version;
    this.#clear();
  }

  get(question: string): { readonly value: unknown } | undefined {
    return this.#answers.get(question);
  }

  set(question: string, value: unknown, length: number): void {
    const needed = question.length + Math.max(length, minEntryChars);
    if (this.#length + needed > maxCachedChars) this.#clear();
    this.#answers.set(question, { value });
    this.#length += needed;
  }

  #clear(): void {
    this.#answers.clear();
    this.#length = 0;
  }
}

/** Asked for with every turn of a conversation or at every look for work, by an index, and nearly always small. */
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

/** A read that comes to more characters than this is left to the thread that reads. */
const maxInlineChars = 256 * 1024;

/** Looks for work: the same question again and again, and nearly always the same answer. Others ask about another session. */
const cachedQueries: ReadonlySet<InlineQuery> = new Set<InlineQuery>([
  "queuedWork",
  "liveWork",
  "untitledWork",
]);

/** Not an error of anybody's: the rows are more than can be read in passing. */
class TooLargeToInline extends Error {}

/**
 * Reads on the caller's own thread. What is small is read sooner than it could be asked for elsewhere and handed over; what
 * turns out to be large is given up early, so that it never holds the event loop up.
 */
export class InlineReader {
  readonly #file: string;
  #opened: { readonly connection: Connection; readonly queries: Queries } | undefined;
  readonly #unchanged = new QueryCache();
  #left = maxInlineChars;

  constructor(file: string) {
    this.#file = file;
  }

  /** `undefined`: it is too much, or the file is just being recovered. */
  read<Name extends InlineQuery>(
    name: Name,
    args: Parameters<Queries[Name]>,
  ): { readonly value: ReturnType<Queries[Name]> } | undefined {
    this.#left = maxInlineChars;
    let connection: Connection | undefined;
    try {
      const opened = (this.#opened ??= this.#open());
      connection = opened.connection;
      const query = opened.queries[name] as (...given: unknown[]) => ReturnType<Queries[Name]>;
      const question = cachedQueries.has(name) ? `${name} ${JSON.stringify(args)}` : undefined;
      connection.sql("BEGIN").run();
      if (question === undefined) return { value: query(...args) };
      this.#look(connection);
      const known = this.#unchanged.get(question);
      // The same question got it from the same query.
      if (known !== undefined) return known as { readonly value: ReturnType<Queries[Name]> };
      const value = query(...args);
      this.#unchanged.set(question, value, maxInlineChars - this.#left);
      return { value };
    } catch (error) {
      if (error instanceof TooLargeToInline || isBusy(error)) return undefined;
      const { code, message } = failureOf(error);
      throw new StoreFailure(code, message);
    } finally {
      if (connection?.database.isTransaction) connection.sql("COMMIT").run();
    }
  }

  /** Inside a transaction, so that it is the version of what is read there. Only others write: this connection cannot. */
  #look(connection: Connection): void {
    this.#unchanged.setDataVersion(connection.sql("PRAGMA data_version").get()?.["data_version"]);
  }

  close(): void {
    this.#opened?.connection.close();
    this.#opened = undefined;
  }

  #open(): { readonly connection: Connection; readonly queries: Queries } {
    const connection = connect({ file: this.#file, access: "glance" });
    const rows = new Map<string, StatementSync>();
    const lists = new Map<string, StatementSync>();
    const prepared = (known: Map<string, StatementSync>, text: string): StatementSync => {
      const statement = known.get(text) ?? connection.database.prepare(text);
      if (known === lists) statement.setReturnArrays(true);
      known.set(text, statement);
      return statement;
    };
    const statements = new Map<string, Statement>();
    const bound = (text: string): Statement => {
      const statement = connection.sql(text);
      return {
        run: (...values) => statement.run(...values),
        get: (...values) => statement.get(...values),
        all: (...values) => this.#collect<Row>(prepared(rows, text), values),
      };
    };
    const bounded: Connection = {
      ...connection,
      sql: (text) => {
        const statement = statements.get(text) ?? bound(text);
        statements.set(text, statement);
        return statement;
      },
      cells: (text, ...values) => this.#collect<Cells>(prepared(lists, text), values),
    };
    return { connection, queries: createQueries(bounded) };
  }

  #collect<Item extends Row | Cells>(statement: StatementSync, values: SQLInputValue[]): Item[] {
    const items: Item[] = [];
    // What `setReturnArrays` changes is not in the method's type.
    for (const item of statement.iterate(...values) as Iterable<unknown> as Iterable<Item>) {
      this.#left -= Array.isArray(item) ? lengthOf(item) : lengthOf(Object.values(item));
      if (this.#left < 0) throw new TooLargeToInline();
      items.push(item);
    }
    return items;
  }
}

function lengthOf(values: readonly unknown[]): number {
  let length = 0;
  for (const value of values)
    if (typeof value === "string" || value instanceof Uint8Array) length += value.length;
  return length;
}
