import type { Terminal } from "./command.ts";
import { cleanText, type Paint, type Screen } from "./screen/index.ts";
import { block, describeCall, endInWords, type Piece, RowMaker } from "./talk/index.ts";

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
  return parts.screen === null ? createPipeVoice(parts) : createScreenVoice(parts, parts.screen);
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

/** The words of the answer alone go to standard output, as they were written; the rest is told beside it. */
function createPipeVoice({ terminal }: VoiceParts): Voice {
  const { output } = terminal;
  let atLineStart = true;
  /** The first half of a character whose second half has not come yet. */
  let half = "";
  function writeWords(text: string): void {
    const whole = half + text;
    half = /[\uD800-\uDBFF]$/.exec(whole)?.[0] ?? "";
    write(cleanText(whole.slice(0, whole.length - half.length)));
  }
  function write(text: string): void {
    if (text === "") return;
    output.write(text);
    atLineStart = text.endsWith("\n");
  }
  function tell(piece: Piece): void {
    switch (piece.kind) {
      case "words":
        if (piece.isNew && !atLineStart) write("\n");
        return writeWords(piece.text);
      case "wordsEnd":
        return write(atLineStart ? "" : "\n");
      case "toolBegan":
        return terminal.complain(cleanText(`⚙ ${describeCall(piece.name, piece.input)}`));
      case "toolEnded":
        return terminal.complain(`  ${piece.outcome}`);
      case "notice":
        return terminal.complain(cleanText(`— ${piece.text}`));
      case "runEnded":
        if (piece.state !== "completed") terminal.complain(`■ ${endInWords(piece)}`);
        return undefined;
      case "said":
      case "summary":
      case "cut":
      case "returned":
        return undefined;
    }
  }
  return {
    show: (pieces) => pieces.forEach(tell),
    status: (text) => {
      if (text !== "") terminal.complain(cleanText(text));
    },
    note: (text) => terminal.complain(cleanText(text)),
    close: () => write(atLineStart ? "" : "\n"),
  };
}
