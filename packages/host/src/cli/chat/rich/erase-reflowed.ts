import { stripVTControlCharacters } from "node:util";
import { widthOf } from "../../screen/width.ts";
import type { ScreenLayout } from "./frame.ts";

const csi = "\u001b[";

/**
 * A window that was made narrower has broken the rows of the frame in two, and who erases as many rows as were drawn leaves
 * some behind. This erases all that they have become and leaves the cursor where it stood in the frame.
 */
export function eraseReflowed({ rows, cursor }: ScreenLayout, columns: number): string {
  let up = Math.floor(cursor.column / columns);
  for (const row of rows.slice(0, cursor.row))
    up += Math.max(1, Math.ceil(widthOf(stripVTControlCharacters(row)) / columns));
  const back = cursor.row > 0 ? `${csi}${cursor.row}B` : "";
  return `${up > 0 ? `${csi}${up}A` : ""}\r${csi}J${back}`;
}
