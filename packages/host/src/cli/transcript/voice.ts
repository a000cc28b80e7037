import type { Terminal } from "../command.ts";
import { createPipeVoice } from "./writer.ts";
import type { Paint } from "../screen/paint.ts";
import type { Screen } from "../screen/screen.ts";
import { block, RowMaker } from "./rows.ts";
import { type Piece } from "./pieces.ts";

/** Says what is new to whoever reads: a person at a terminal, or a pipe. */
export interface Voice {
  show(pieces: readonly Piece[]): void;
  /** How things stand; empty when there is nothing to say. */
  status(text: string): void;
  /** A word about the run that is no part of the answer. */
  note(text: string): void;
  close(): void;
}

export interface VoiceParts {
  readonly terminal: Terminal;
  readonly paint: Paint;
  readonly screen: Screen | null;
}

export function createVoice(parts: VoiceParts): Voice {
  return parts.screen === null
    ? createPipeVoice(parts.terminal)
    : createScreenVoice(parts, parts.screen);
}

function createScreenVoice({ paint }: VoiceParts, screen: Screen): Voice {
  const rows = new RowMaker();
  let said = "";
  function draw(finished: readonly string[]): void {
    const look = { width: screen.width, paint };
    const open = rows.open(look).slice(-(screen.height - 2));
    const status = said === "" ? [] : block(said, look, "", ["dim"]);
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
    note: (text) => draw(block(text, { width: screen.width, paint }, "", [])),
    close: () => screen.close(),
  };
}
