import type { Json, NewEvent } from "@holdfast/protocol";

/** Characters in all the texts of one commit. What is larger belongs in a blob. */
export const maxCommitLength = 8 * 1024 * 1024;

/** Counts without writing the JSON out, since every tick of every run passes here. */
export function isCommitTooLarge(events: readonly NewEvent[]): boolean {
  let length = 0;
  for (const event of events) {
    length += textLength(event.data);
    if (length > maxCommitLength) return true;
  }
  return false;
}

function textLength(value: Json): number {
  if (typeof value === "string") return value.length;
  if (typeof value !== "object" || value === null) return 1;
  let length = 0;
  if (Array.isArray(value)) {
    for (const each of value) length += 1 + textLength(each);
    return length;
  }
  for (const key in value) length += key.length + textLength(value[key] ?? null);
  return length;
}
