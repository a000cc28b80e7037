import type { Terminal } from "../command.ts";
import { cleanText } from "../screen/text.ts";
import { transcriptStrings } from "../strings/transcript.ts";
import { describeCall, describeRunEnd, describeOutcome, resultLines } from "./describe.ts";
import { type TranscriptPiece } from "./pieces.ts";

/** Shows new pieces to a person at a terminal, or writes them to a pipe. */
export interface TranscriptWriter {
  show(pieces: readonly TranscriptPiece[]): void;
  /** The current status; empty if there is none. */
  status(text: string): void;
  /** A remark about the run that is not part of the answer. */
  note(text: string): void;
  close(): void;
}

/** Only the answer's text goes to standard output, as it was written; everything else goes to standard error. */
export function createPipeWriter(terminal: Terminal): TranscriptWriter {
  const answer = new PipedText((text) => void terminal.output.write(text));
  const printError = (line: string): void => terminal.printError(line);
  let status = "";
  function write(piece: TranscriptPiece): void {
    switch (piece.kind) {
      case "text":
        if (piece.isNew) answer.endLine();
        return answer.add(piece.text);
      case "textEnd":
      case "userMessage":
        return answer.endLine();
      case "toolStarted":
        return printError(cleanText(`⚙ ${describeCall(piece.name, piece.input)}`));
      case "toolEnded":
        printError(`  ${describeOutcome(piece)}`);
        for (const line of resultLines(piece)) printError(cleanText(`    ${line}`));
        return undefined;
      case "picture":
        return printError(cleanText(transcriptStrings.picture(piece.name, piece.size)));
      case "notice":
        return printError(cleanText(`— ${piece.text}`));
      case "runEnded":
        answer.endLine();
        if (piece.state !== "completed") printError(`■ ${describeRunEnd(piece)}`);
        return undefined;
      case "thought":
      case "summary":
      case "cut":
      case "returned":
        return undefined;
    }
  }
  return {
    show: (pieces) => pieces.forEach(write),
    status: (text) => {
      // A status is printed when it starts, however often it is repeated.
      if (text !== "" && text !== status) printError(cleanText(text));
      status = text;
    },
    note: (text) => printError(cleanText(text)),
    close: () => answer.endLine(),
  };
}

/** Text as it was written, in whole characters, with each answer on lines of its own. */
class PipedText {
  readonly #write: (text: string) => void;
  #isAtLineStart = true;
  /** The first half of a surrogate pair whose second half has not arrived. */
  #pendingHalf = "";

  constructor(write: (text: string) => void) {
    this.#write = write;
  }

  add(text: string): void {
    const whole = this.#pendingHalf + text;
    this.#pendingHalf = /[\uD800-\uDBFF]$/.exec(whole)?.[0] ?? "";
    const clean = cleanText(whole.slice(0, whole.length - this.#pendingHalf.length));
    if (clean === "") return;
    this.#write(clean);
    this.#isAtLineStart = clean.endsWith("\n");
  }

  endLine(): void {
    this.#pendingHalf = "";
    if (!this.#isAtLineStart) this.#write("\n");
    this.#isAtLineStart = true;
  }
}
