import type { Paint } from "../screen/paint.ts";
import type { Screen } from "../screen/screen.ts";
import { PlainRows, wrapBlock } from "./rows.ts";
import type { TranscriptWriter } from "./writer.ts";

/** Redraws a growing answer and the status at the bottom of the screen. */
export function createScreenWriter(screen: Screen, paint: Paint): TranscriptWriter {
  const rows = new PlainRows();
  let statusText = "";
  function draw(finished: readonly string[]): void {
    const style = { width: screen.width, paint };
    const open = rows.openRows(style).slice(-(screen.height - 2));
    const status = statusText === "" ? [] : wrapBlock(statusText, style, "", ["dim"]);
    screen.show(finished, { rows: [...open, ...status] });
  }
  return {
    show: (pieces) =>
      draw(pieces.flatMap((piece) => rows.add(piece, { width: screen.width, paint }))),
    status(text) {
      if (text === statusText) return;
      statusText = text;
      draw([]);
    },
    note: (text) => draw(wrapBlock(text, { width: screen.width, paint }, "", [])),
    close: () => screen.close(),
  };
}
