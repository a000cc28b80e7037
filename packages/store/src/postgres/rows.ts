import { z } from "zod";
import {
  createDecoder,
  createEncoder,
  type FieldColumn,
  type StoredValue,
  type Table,
} from "../schema/columns.ts";
import * as tables from "../schema/tables.ts";
import { insertRows, type Row } from "./connection.ts";
import type { SessionRow } from "@holdfast/engine";
import {
  type ChainState,
  decodeRunningHash,
  encodeRunningHash,
  hashOfLink,
} from "../shared/hash-chain.ts";

export function namesOf(columns: readonly FieldColumn[]): string[] {
  return columns.map(({ name }) => name);
}

/**
 * What a statement selects of a table. It never uses `*`: a column that a newer version adds would change the type of
 * the result, and PostgreSQL then refuses what older hosts have prepared.
 */
export function columnsOf({ columns }: Pick<Table<unknown>, "columns">, alias?: string): string {
  const names = namesOf(columns);
  return names.map((name) => (alias === undefined ? name : `${alias}.${name}`)).join(", ");
}

function cellWriter({ kind, encode }: FieldColumn): ((value: unknown) => StoredValue) | undefined {
  if (kind === "json") return encode;
  if (kind === "opaque") return JSON.stringify;
  return undefined;
}

function cellReader({ kind, decode }: FieldColumn): (cell: unknown) => unknown {
  if (kind === "json") return (cell) => decode(cell as StoredValue);
  if (kind === "opaque") return (cell) => z.string().parse(JSON.parse(String(cell)));
  return (cell) => cell;
}

/** The shape of a row of the table. Other columns are ignored. */
export function shapeOf({ columns }: Pick<Table<unknown>, "columns">): z.ZodType<Row> {
  return z.object(Object.fromEntries(columns.map(({ name, schema }) => [name, schema])));
}

/** Decodes a row that has the table's shape. */
export function checkedDecoder<Item>({ columns }: Table<Item>): (row: Row) => Item {
  return createDecoder(columns, ({ name }) => name, cellReader);
}

function decoder<Item>(description: Table<Item>): (row: Row) => Item {
  const shape = shapeOf(description);
  const decode = checkedDecoder(description);
  return (row) => decode(shape.parse(row));
}

export function encoder<Item>({ columns }: Table<Item>): (item: Item) => Row {
  const names = namesOf(columns);
  const cellsOf = createEncoder<Item, StoredValue>(columns, cellWriter);
  return (item) => {
    const row: Row = {};
    for (const [index, cell] of cellsOf(item).entries()) row[names[index]!] = cell;
    return row;
  };
}

interface PostgresTable<Item> {
  /** Statements that take a JSON array of encoded rows. */
  readonly insert: string;
  readonly upsert: string;
  readonly encode: (item: Item) => Row;
  readonly decode: (row: Row) => Item;
}

function postgresTable<Item>(description: Table<Item>): PostgresTable<Item> {
  const { name: table, key, columns } = description;
  const changes = columns
    .filter(({ name }) => !key.includes(name))
    .map(({ name, isSticky }) =>
      isSticky
        ? `${name} = coalesce(excluded.${name}, ${table}.${name})`
        : `${name} = excluded.${name}`,
    );
  const insert = insertRows(table, namesOf(columns).join(", "));
  return {
    insert,
    upsert: `${insert} ON CONFLICT (${key.join(", ")}) DO UPDATE SET ${changes.join(", ")}`,
    encode: encoder(description),
    decode: decoder(description),
  };
}

export const runTable = postgresTable(tables.runs);
export const inputTable = postgresTable(tables.inputs);
export const approvalTable = postgresTable(tables.approvals);
export const laneTable = postgresTable(tables.lanes);
export const usageTable = postgresTable(tables.usage);
export const leaseTable = postgresTable(tables.leases);
export const markTable = postgresTable(tables.marks);
export const memoryTryTable = postgresTable(tables.memoryTries);
export const outboxTable = postgresTable(tables.outbox);

export const decodeRegister = decoder(tables.register);
export const decodeRequest = decoder(tables.requests);
export const decodeBlob = decoder(tables.blobs);
export const decodePurge = decoder(tables.purges);

/** A session's row, and what its commits need to know besides. */
export interface StoredSession {
  readonly row: SessionRow;
  /** Deltas up to this seq are settled. */
  readonly settledUpto: number;
}

/** As a commit locks it. */
export interface LockedSession extends StoredSession {
  readonly chain: ChainState;
}

const columnsOfHead = tables.sessions.columns.filter(({ field }) => tables.headFields.has(field));
/** The columns of `heads` besides the session's id. */
export const headColumns = [...namesOf(columnsOfHead), "settled_upto", "output_hash"];

/** Every read of a session joins its head. */
export const sessionColumns = [
  ...tables.sessions.columns.map(
    ({ field, name }) => `${tables.headFields.has(field) ? "h" : "s"}.${name}`,
  ),
  "h.settled_upto",
].join(", ");

const columnsOfSessions = tables.sessions.columns.filter(
  ({ field }) => !tables.headFields.has(field),
);
/** What `sessions` itself has of it. */
export const storedSessionColumns = columnsOf({ columns: columnsOfSessions }, "s");

const decodeRow = decoder(tables.sessions);

export function decodeSession(row: Row): StoredSession {
  return { row: decodeRow(row), settledUpto: z.int().parse(row["settled_upto"]) };
}

/** What a commit also reads. Older versions write no link and no hash of the output. */
export const lockedColumns = `${sessionColumns}, h.output_hash,
  (SELECT e.link FROM events e WHERE e.session_id = s.id ORDER BY e.seq DESC LIMIT 1) AS last_link`;

const lockedCells = z.object({
  output_hash: z.string().nullable(),
  last_link: z.string().nullable(),
});

export function decodeLockedSession(cells: Row): LockedSession {
  const stored = decodeSession(cells);
  const { output_hash, last_link } = lockedCells.parse(cells);
  const chain: ChainState = {
    last: hashOfLink(last_link),
    output: decodeRunningHash(output_hash, stored.row.openDeltas),
  };
  return { ...stored, chain };
}

/** Head, activity and open deltas are stored in `heads`. */
export const sessionTable = postgresTable<SessionRow>({
  ...tables.sessions,
  columns: columnsOfSessions,
});

const encodeHeadFields = encoder<SessionRow>({ ...tables.sessions, columns: columnsOfHead });

export function encodeHead({ row, settledUpto, chain: { output } }: LockedSession): Row {
  const output_hash = output === null || output.count === 0 ? null : encodeRunningHash(output);
  return { session_id: row.id, ...encodeHeadFields(row), settled_upto: settledUpto, output_hash };
}

/** Tags carry a copy of the list's order, so that a list by tag is one scan too. */
export function encodeTags(row: SessionRow): Row[] {
  return row.tags.map((tag) => ({
    owner_id: row.owner,
    tag,
    shelf: tables.shelfOf(row),
    sort_at: row.sortAt,
    session_id: row.id,
  }));
}
