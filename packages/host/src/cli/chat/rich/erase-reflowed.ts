import { stripVTControlCharacters } from "node:util";
import { widthOf } from "../../screen/width.ts";
import type { Frame } from "./frame.ts";

const escape = "\u001b[";

/**
 * A window that was made narrower has broken the rows of the frame in two, and who erases as many rows as were drawn leaves
 * some behind. This erases all that they have become and leaves the cursor where it stood in the frame.
 */
export function eraseReflowed({ rows, cursor }: Frame, columns: number): string {
  let up = Math.floor(cursor.column / columns);
  for (const row of rows.slice(0, cursor.row))
    up += Math.max(1, Math.ceil(widthOf(stripVTControlCharacters(row)) / columns));
  const back = cursor.row > 0 ? `${escape}${cursor.row}B` : "";
  return `${up > 0 ? `${escape}${up}A` : ""}\r${escape}J${back}`;
}
