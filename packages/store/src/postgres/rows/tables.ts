import { z } from "zod";

import {
  createDecoder,
  createEncoder,
  type FieldColumn,
  type StoredValue,
  type Table,
} from "../../schema/columns.ts";
import * as tables from "../../schema/tables.ts";
import { insertRows, type Row } from "../connection.ts";

export function namesOf(columns: readonly FieldColumn[]): string[] {
  return columns.map(({ name }) => name);
}

function cellWriter({ kind, encode }: FieldColumn): ((value: unknown) => StoredValue) | undefined {
  if (kind === "json") return encode;
  if (kind === "opaque") return JSON.stringify;
  return undefined;
}

function cellReader({ name, kind, decode }: FieldColumn): (row: Row) => unknown {
  if (kind === "json") return (row) => decode(row[name] as StoredValue);
  if (kind === "opaque") return (row) => z.string().parse(JSON.parse(String(row[name])));
  return (row) => row[name];
}

/** What a row of the table must look like. Other columns are ignored. */
export function shapeOf({ columns }: Pick<Table<unknown>, "columns">): z.ZodType<Row> {
  return z.object(Object.fromEntries(columns.map(({ name, schema }) => [name, schema])));
}

/** Takes a row that has the table's shape. */
export function checkedDecoder<Item>({ columns }: Table<Item>): (row: Row) => Item {
  return createDecoder(columns, cellReader);
}

export function decoder<Item>(description: Table<Item>): (row: Row) => Item {
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

export interface PostgresTable<Item> {
  /** Statements that take a JSON array of encoded rows. */
  readonly insert: string;
  readonly upsert: string;
  readonly encode: (item: Item) => Row;
  readonly decode: (row: Row) => Item;
}

export function postgresTable<Item>(description: Table<Item>): PostgresTable<Item> {
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
