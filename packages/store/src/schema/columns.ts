import { type SessionId, sessionId } from "@holdfast/protocol";
import { z } from "zod";

/**
 * How a column stores its value.
 *
 * | kind      | SQLite            | PostgreSQL                                          |
 * |-----------|-------------------|-----------------------------------------------------|
 * | `text`    | text              | text                                                |
 * | `option`  | text              | text                                                |
 * | `int`     | integer           | bigint                                              |
 * | `bool`    | 0 or 1            | boolean                                             |
 * | `json`    | text              | text: `jsonb` rejects some of what models write     |
 * | `opaque`  | text              | text as a JSON string, because it may contain a NUL |
 * | `session` | the session's key | the session's id                                    |
 */
export type ColumnKind = "text" | "option" | "int" | "bool" | "json" | "opaque" | "session";

/** A value as it is stored, except that SQLite has no booleans. */
export type StoredValue = string | number | boolean | null;

/** The compiler compares `Value` in both directions, because both functions are properties. */
export interface Column<Value> {
  readonly name: string;
  readonly kind: ColumnKind;
  /** Of the stored value. */
  readonly schema: z.ZodType;
  readonly options?: ReadonlySet<unknown>;
  readonly isNullable: boolean;
  /** An update to null leaves the value as it is. */
  readonly isSticky: boolean;
  readonly encode: (value: Value) => StoredValue;
  /** The stored value has the column's type. */
  readonly decode: (stored: StoredValue) => Value;
}

function plainColumn<Value extends StoredValue>(
  name: string,
  kind: ColumnKind,
  schema: z.ZodType,
): Column<Value> {
  return {
    name,
    kind,
    schema,
    isNullable: false,
    isSticky: false,
    encode: (value) => value,
    decode: (stored) => stored as Value,
  };
}

export function text(name: string): Column<string>;
export function text<Id extends z.ZodType<string>>(name: string, schema: Id): Column<z.infer<Id>>;
export function text(name: string, schema: z.ZodType = z.string()): Column<string> {
  return plainColumn(name, "text", schema);
}

/** One of a few texts. */
export function option<Value extends string>(
  name: string,
  schema: z.ZodType<Value> & { readonly options: readonly Value[] },
): Column<Value> {
  return { ...plainColumn<Value>(name, "option", schema), options: new Set(schema.options) };
}

export function int(name: string): Column<number>;
export function int<Int extends z.ZodType<number>>(name: string, schema: Int): Column<z.infer<Int>>;
export function int(name: string, schema: z.ZodType = z.int()): Column<number> {
  return plainColumn(name, "int", schema);
}

export function bool(name: string): Column<boolean> {
  return plainColumn(name, "bool", z.boolean());
}

/** Somebody else's text, which must compare equal later whatever it contains. */
export function opaqueText(name: string): Column<string> {
  return plainColumn(name, "opaque", z.string());
}

/** The session that a row belongs to. */
export function session(): Column<SessionId> {
  return plainColumn("session_id", "session", sessionId);
}

export function json<Value>(name: string, schema: z.ZodType<Value>): Column<Value> {
  return {
    ...plainColumn(name, "json", z.string()),
    encode: (value) => JSON.stringify(value),
    decode: (stored) => schema.parse(JSON.parse(String(stored))),
  };
}

const maxMemoizedTexts = 1_000;

/** JSON of which most rows have the same few values, so that each is parsed once. */
export function repeatedJson<Value>(name: string, schema: z.ZodType<Value>): Column<Value> {
  const column = json(name, schema);
  const cache = new Map<StoredValue, Value>();
  return {
    ...column,
    decode(stored) {
      const cached = cache.get(stored);
      if (cached !== undefined) return cached;
      if (cache.size >= maxMemoizedTexts) cache.clear();
      const value = column.decode(stored);
      cache.set(stored, value);
      return value;
    },
  };
}

export function nullable<Value>(column: Column<Value>): Column<Value | null> {
  return {
    ...column,
    schema: column.schema.nullable(),
    isNullable: true,
    encode: (value) => (value === null ? null : column.encode(value)),
    decode: (stored) => (stored === null ? null : column.decode(stored)),
  };
}

export function sticky<Value>(column: Column<Value | null>): Column<Value | null> {
  return { ...column, isSticky: true };
}

/** The columns of an object. All are null when there is none. */
export interface ColumnGroup<Value> {
  readonly kind: "group";
  readonly parts: { readonly [Part in keyof Value]-?: Column<Value[Part]> };
}

export function group<Value extends object>(
  parts: ColumnGroup<Value>["parts"],
): ColumnGroup<Value> {
  return { kind: "group", parts };
}

type FieldColumns<Value> =
  | Column<Value>
  | (null extends Value ? ColumnGroup<NonNullable<Value>> : never);

/** A column, and which field of a row it stores. */
export interface FieldColumn extends Column<unknown> {
  readonly field: string;
  /** For a column of a group: the property of the field's object. */
  readonly part?: string;
}

/** A table of both databases: for each field of a row of the engine, the column that stores it. */
export interface Table<Row> {
  readonly name: string;
  /** The names of its key's columns. */
  readonly key: readonly string[];
  readonly columns: readonly FieldColumn[];
  /** Only in types. */
  readonly row?: Row;
}

/** The compiler names a field that has no column, and a column of another type than its field. */
export function describeTable<Row extends object>(
  name: string,
  key: readonly (keyof Row)[],
  fields: { readonly [Field in keyof Row]-?: FieldColumns<Row[Field]> },
): Table<Row> {
  const entries = Object.entries(fields) as [string, FieldColumns<unknown>][];
  const columns = entries.flatMap(([field, column]): FieldColumn[] =>
    column.kind === "group" ? groupColumns(field, column) : [{ ...column, field }],
  );
  const isKey = ({ field }: FieldColumn) => key.includes(field as keyof Row);
  return { name, key: columns.filter(isKey).map((column) => column.name), columns };
}

function groupColumns(field: string, { parts }: ColumnGroup<object>): FieldColumn[] {
  const entries = Object.entries(parts) as [string, Column<unknown>][];
  return entries.map(([part, column]) => ({ ...nullable(column), field, part }));
}

/** The values of a row's columns, in their order. `cellWriter` returns nothing for a value that is stored as it is. */
export function createEncoder<Row, Cell>(
  columns: readonly FieldColumn[],
  cellWriter: (column: FieldColumn) => ((value: unknown) => Cell) | undefined,
): (row: Row) => Cell[] {
  const fields = columns.map(({ field }) => field);
  const parts = columns.map(({ part }) => part);
  const writers = columns.map(cellWriter);
  return (row) => {
    const cells: Cell[] = [];
    for (let index = 0; index < fields.length; index += 1) {
      const part = parts[index];
      const field = valueIn(row, fields[index]!);
      const value = part === undefined || field === null ? field : valueIn(field, part);
      const write = writers[index];
      cells.push(write === undefined ? (value as Cell) : write(value));
    }
    return cells;
  };
}

function valueIn(object: unknown, name: string): unknown {
  return (object as Readonly<Record<string, unknown>>)[name];
}

/** A row from the cells of its columns. `cellReader` checks their types. */
export function createDecoder<Row, Cells>(
  columns: readonly FieldColumn[],
  cellReader: (column: FieldColumn, index: number) => (cells: Cells) => unknown,
): (cells: Cells) => Row {
  const readers = columns.map(cellReader);
  const byField = Map.groupBy(columns.keys(), (index) => columns[index]!.field);
  const fields = [...byField.keys()];
  const decoders = [...byField.values()].map((indexes) => {
    const [first = 0] = indexes;
    if (columns[first]?.part === undefined) return readers[first]!;
    return groupDecoder(indexes.map((index) => [columns[index]!.part!, readers[index]!]));
  });
  const blank = Object.fromEntries(fields.map((field) => [field, null]));
  return (cells) => {
    // A copy has all fields already, which is faster than adding them.
    const row: Record<string, unknown> = { ...blank };
    for (let index = 0; index < fields.length; index += 1) {
      row[fields[index]!] = decoders[index]!(cells);
    }
    return row as Row;
  };
}

function groupDecoder<Cells>(
  parts: readonly (readonly [string, (cells: Cells) => unknown])[],
): (cells: Cells) => unknown {
  return (cells) => {
    const values = parts.map(([part, read]) => [part, read(cells)] as const);
    return values.some(([, value]) => value === null) ? null : Object.fromEntries(values);
  };
}
