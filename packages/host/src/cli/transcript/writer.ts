import type { Terminal } from "../command.ts";
import { cleanText } from "../screen/text.ts";
import { describeCall, describeRunEnd, describeOutcome } from "./describe.ts";
import { type TranscriptPiece } from "./pieces.ts";
import type { Paint, Screen } from "../screen/screen.ts";
import { wrapBlock, PlainRows } from "./rows.ts";

/** The words of the answer alone go to standard output, as they were written; the rest is told beside it. */
export function createPipeWriter(terminal: Terminal): TranscriptWriter {
  const answer = new PipedText((text) => void terminal.output.write(text));
  const complain = (line: string): void => terminal.printError(line);
  let status = "";
  function tell(piece: TranscriptPiece): void {
    switch (piece.kind) {
      case "words":
        if (piece.isNew) answer.endLine();
        return answer.add(piece.text);
      case "wordsEnd":
      case "said":
        return answer.endLine();
      case "toolBegan":
        return complain(cleanText(`⚙ ${describeCall(piece.name, piece.input)}`));
      case "toolEnded":
        return complain(`  ${describeOutcome(piece)}`);
      case "notice":
        return complain(cleanText(`— ${piece.text}`));
      case "runEnded":
        answer.endLine();
        if (piece.state !== "completed") complain(`■ ${describeRunEnd(piece)}`);
        return undefined;
      case "thought":
      case "summary":
      case "cut":
      case "returned":
        return undefined;
    }
  }
  return {
    show: (pieces) => pieces.forEach(tell),
    status: (text) => {
      // A state of things is told when it begins, however often it is met.
      if (text !== "" && text !== status) complain(cleanText(text));
      status = text;
    },
    note: (text) => complain(cleanText(text)),
    close: () => answer.endLine(),
  };
}

/** Text as it was written, whole characters only, with each answer on lines of its own. */
class PipedText {
  readonly #write: (text: string) => void;
  #atLineStart = true;
  /** The first half of a character whose second half has not come yet. */
  #half = "";

  constructor(write: (text: string) => void) {
    this.#write = write;
  }

  add(text: string): void {
    const whole = this.#half + text;
    this.#half = /[\uD800-\uDBFF]$/.exec(whole)?.[0] ?? "";
    const clean = cleanText(whole.slice(0, whole.length - this.#half.length));
    if (clean === "") return;
    this.#write(clean);
    this.#atLineStart = clean.endsWith("\n");
  }

  endLine(): void {
    this.#half = "";
    if (!this.#atLineStart) this.#write("\n");
    this.#atLineStart = true;
  }
}

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
