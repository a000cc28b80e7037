import type { Paint } from "../screen/paint.ts";
import type { LiveRegion, Screen } from "../screen/screen.ts";
import { PlainRows, wrapBlock } from "./rows.ts";
import type { TranscriptWriter } from "./writer.ts";

/** A writer that redraws a growing answer, the status and what `below` returns at the bottom of the screen. */
export interface ScreenWriter extends TranscriptWriter {
  /** Adds permanent rows and redraws. */
  print(rows: readonly string[]): void;
}

export function createScreenWriter(
  screen: Screen,
  paint: Paint,
  below: (width: number) => LiveRegion = () => ({ rows: [] }),
): ScreenWriter {
  const rows = new PlainRows();
  let statusText = "";
  function draw(finished: readonly string[]): void {
    const style = { width: screen.width, paint };
    const bottom = below(style.width);
    const room = Math.max(0, screen.height - 2 - bottom.rows.length);
    const open = room === 0 ? [] : rows.openRows(style).slice(-room);
    const status = statusText === "" ? [] : wrapBlock(statusText, style, "", ["dim"]);
    const above = [...open, ...status];
    const { cursor } = bottom;
    screen.show(finished, {
      rows: [...above, ...bottom.rows],
      ...(cursor !== undefined && { cursor: { ...cursor, row: cursor.row + above.length } }),
    });
  }
  return {
    print: draw,
    show: (pieces) =>
      draw(pieces.flatMap((piece) => rows.add(piece, { width: screen.width, paint }))),
    status(text) {
      if (text === statusText) return;
      statusText = text;
      draw([]);
    },
    note: (text) => draw(wrapBlock(text, { width: screen.width, paint }, "", [])),
    close() {
      // What was written so far stays on the screen.
      screen.show(rows.openRows({ width: screen.width, paint }), { rows: [] });
      screen.close();
    },
  };
}
