import type { Terminal } from "../command.ts";
import { createPipeWriter } from "./writer.ts";
import type { Paint } from "../screen/paint.ts";
import type { Screen } from "../screen/screen.ts";
import { wrapBlock, PlainRows } from "./rows.ts";
import { type TranscriptPiece } from "./pieces.ts";

/** Says what is new to whoever reads: a person at a terminal, or a pipe. */
export interface TranscriptWriter {
  show(pieces: readonly TranscriptPiece[]): void;
  /** How things stand; empty when there is nothing to say. */
  status(text: string): void;
  /** A word about the run that is no part of the answer. */
  note(text: string): void;
  close(): void;
}

export interface TranscriptWriterDeps {
  readonly terminal: Terminal;
  readonly paint: Paint;
  readonly screen: Screen | null;
}

export function createTranscriptWriter(parts: TranscriptWriterDeps): TranscriptWriter {
  return parts.screen === null
    ? createPipeWriter(parts.terminal)
    : createScreenWriter(parts, parts.screen);
}

function createScreenWriter({ paint }: TranscriptWriterDeps, screen: Screen): TranscriptWriter {
  const rows = new PlainRows();
  let said = "";
  function draw(finished: readonly string[]): void {
    const look = { width: screen.width, paint };
    const open = rows.openRows(look).slice(-(screen.height - 2));
    const status = said === "" ? [] : wrapBlock(said, look, "", ["dim"]);
    screen.show(finished, { rows: [...open, ...status] });
  }
  return {
    show: (pieces) =>
      draw(pieces.flatMap((piece) => rows.add(piece, { width: screen.width, paint }))),
    status(text) {
      if (text === said) return;
      said = text;
      draw([]);
    },
    note: (text) => draw(wrapBlock(text, { width: screen.width, paint }, "", [])),
    close: () => screen.close(),
  };
}
