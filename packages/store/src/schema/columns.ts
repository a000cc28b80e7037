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

/** `encode` and `decode` are properties, not methods, so the compiler checks `Value` in both directions. */
export interface Column<Value> {
  readonly name: string;
  readonly kind: ColumnKind;
  /** Describes the stored value. */
  readonly schema: z.ZodType;
  readonly options?: ReadonlySet<unknown>;
  readonly isNullable: boolean;
  /** An update to null leaves the value as it is. */
  readonly isSticky: boolean;
  readonly encode: (value: Value) => StoredValue;
  /** Expects a stored value of the column's type. */
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

/** One of a fixed set of strings. */
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

/** Text from elsewhere, which must round-trip whatever it contains. */
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

/** JSON with few distinct values, each of which is parsed once. */
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

/** The columns of an object. All are null if the object is. */
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

/** A column and the field of a row that it stores. */
export interface FieldColumn extends Column<unknown> {
  readonly field: string;
  /** For a column of a group: the property of the field's object. */
  readonly part?: string;
}

/** A table of both databases: a column for each field of the engine's row. */
export interface Table<Row> {
  readonly name: string;
  /** The names of its key's columns. */
  readonly key: readonly string[];
  readonly columns: readonly FieldColumn[];
  /** Exists only in the type. */
  readonly row?: Row;
}

/** The compiler reports a field without a column, and a column whose type differs from its field. */
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

/** Encodes a row as the values of its columns, in order. `cellWriter` returns nothing for a value stored unchanged. */
export function createEncoder<Row, Cell>(
  columns: readonly FieldColumn[],
  cellWriter: (column: FieldColumn) => ((value: unknown) => Cell) | undefined,
): (row: Row) => Cell[] {
  const writers = columns.map(cellWriter);
  const cells = columns.map(({ field, part }, index) => {
    const name = `row[${JSON.stringify(field)}]`;
    const value = part === undefined ? name : `${name}?.[${JSON.stringify(part)}] ?? null`;
    return writers[index] === undefined ? value : `${callee(index)}(${value})`;
  });
  return compile(`(row) => [${cells.join(", ")}]`, writers);
}

/** Decodes a row from its cells, which `keyOf` locates. `cellReader` checks a cell's type. */
export function createDecoder<Row, Cells>(
  columns: readonly FieldColumn[],
  keyOf: (column: FieldColumn, index: number) => string | number,
  cellReader: (column: FieldColumn) => (cell: unknown) => unknown,
): (cells: Cells) => Row {
  const cells = columns.map((column, index) => `cells[${JSON.stringify(keyOf(column, index))}]`);
  const values = cells.map((cell, index) => `${callee(index)}(${cell})`);
  const byField = Map.groupBy(columns.keys(), (index) => columns[index]!.field);
  const fields = [...byField].map(([field, indexes]) => {
    const parts = indexes.flatMap((index) => {
      const { part } = columns[index]!;
      return part === undefined ? [] : [`${JSON.stringify(part)}: ${values[index]}`];
    });
    const isAbsent = indexes.map((index) => `${cells[index]} === null`).join(" || ");
    const value =
      parts.length === 0 ? values[indexes[0]!] : `${isAbsent} ? null : { ${parts.join(", ")} }`;
    return `${JSON.stringify(field)}: ${value}`;
  });
  return compile(`(cells) => ({ ${fields.join(", ")} })`, columns.map(cellReader));
}

const callee = (index: number) => `call${index}`;

/**
 * Compiles a function that calls others by `callee(index)`. An object literal with every field is ten times as fast as
 * setting fields in a loop, which matters in a list of sessions. The source contains only names from descriptions.
 */
function compile<Compiled>(source: string, callees: readonly unknown[]): Compiled {
  const names = callees.map((_, index) => callee(index));
  // oxlint-disable-next-line typescript/no-implied-eval -- only names from descriptions, as said above
  const create = new Function(...names, `return ${source};`) as (...args: unknown[]) => Compiled;
  return create(...callees);
}
