import type { SessionId } from "@holdfast/protocol";

import type { Finding } from "./findings.ts";

/** Equal as JSON: a field that is absent and one that is undefined are the same, and so is any order of fields. */
function sameValue(a: unknown, b: unknown): boolean {
  if (Object.is(a, b) || a === b) return true;
  if (typeof a !== "object" || typeof b !== "object" || a === null || b === null) return false;
  if (Array.isArray(a) !== Array.isArray(b)) return false;
  return fieldsOf(a, b).every((field) => sameValue(Reflect.get(a, field), Reflect.get(b, field)));
}

/** The fields in which two rows differ, each with what is stored and what the log says. */
export function differences(stored: object, derived: object): string[] {
  return fieldsOf(stored, derived)
    .filter((field) => !sameValue(Reflect.get(stored, field), Reflect.get(derived, field)))
    .map((field) => {
      const [is, should] = [Reflect.get(stored, field), Reflect.get(derived, field)] as unknown[];
      return `${field} is ${shortJson(is)} and should be ${shortJson(should)}`;
    });
}

function fieldsOf(a: object, b: object): string[] {
  return [...new Set([...Object.keys(a), ...Object.keys(b)])];
}

function shortJson(value: unknown): string {
  const text = JSON.stringify(value) ?? "absent";
  return text.length > 120 ? `${text.slice(0, 119)}…` : text;
}

/** Compares the rows of one table of one session, by key. */
export function compareTable<Row extends object>(
  { table, session }: { readonly table: string; readonly session: SessionId },
  stored: Iterable<Row>,
  derived: Iterable<Row>,
  keyOf: (row: Row) => string,
): Finding[] {
  const findings: Finding[] = [];
  const add = (code: Finding["code"], key: string, message: string): void => {
    findings.push({ code, table, session, key, message, repair: "possible" });
  };
  const rest = new Map([...derived].map((row) => [keyOf(row), row]));
  for (const row of stored) {
    const key = keyOf(row);
    const expected = rest.get(key);
    rest.delete(key);
    if (expected === undefined) add("row_extra", key, "The row follows from no event.");
    else {
      const differing = differences(row, expected);
      if (differing.length > 0) add("row_differs", key, `${differing.join("; ")}.`);
    }
  }
  for (const key of rest.keys()) add("row_missing", key, "The log says that there is such a row.");
  return findings;
}
