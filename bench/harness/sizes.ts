import type { BenchOptions } from "./options.ts";

interface Size<Value> {
  readonly full: Value;
  /** Shows that it runs, and nothing about speed. */
  readonly quick: Value;
}

export type SizeTable = Readonly<Record<string, Size<unknown>>>;
export type SizesOf<Table extends SizeTable> = {
  readonly [Name in keyof Table]: Table[Name]["full"];
};

export function size<Value>(full: Value, quick: Value): Size<Value> {
  return { full, quick };
}

export function chooseSizes<Table extends SizeTable>(
  table: Table,
  { quick }: BenchOptions,
): SizesOf<Table> {
  const column = quick ? "quick" : "full";
  const chosen = Object.entries(table).map(([name, each]) => [name, each[column]]);
  // Has the table's own names and values.
  return Object.fromEntries(chosen) as SizesOf<Table>;
}
