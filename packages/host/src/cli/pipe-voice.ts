import type { Terminal } from "./command.ts";
import { cleanText } from "./screen/index.ts";
import { describeCall, endInWords, outcomeInWords, type Piece } from "./talk/index.ts";
import type { Voice } from "./voice.ts";

/** The words of the answer alone go to standard output, as they were written; the rest is told beside it. */
export function createPipeVoice(terminal: Terminal): Voice {
  const answer = new PipedAnswer((text) => void terminal.output.write(text));
  const complain = (line: string): void => terminal.complain(line);
  let status = "";
  function tell(piece: Piece): void {
    switch (piece.kind) {
      case "words":
        if (piece.isNew) answer.begin();
        return answer.add(piece.text);
      case "wordsEnd":
        return answer.end(piece.partial === undefined ? "whole" : "broken off");
      case "toolBegan":
        return complain(cleanText(`⚙ ${describeCall(piece.name, piece.input)}`));
      case "toolEnded":
        return complain(`  ${outcomeInWords(piece)}`);
      case "notice":
        return complain(cleanText(`— ${piece.text}`));
      case "runEnded":
        answer.forget();
        if (piece.state !== "completed") complain(`■ ${endInWords(piece)}`);
        return undefined;
      case "said":
        return answer.forget();
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
    close: () => answer.close(),
  };
}

/**
 * What was written into a pipe cannot be taken back. So where an answer was broken off and is given again, as after a crash of
 * its host, it is gone on with as long as it says the same, and only begun anew where it says something else.
 */
class PipedAnswer {
  readonly #write: (text: string) => void;
  #atLineStart = true;
  /** The first half of a character whose second half has not come yet. */
  #half = "";
  /** The words of this answer, those that were broken off before it, and whether it still repeats them. */
  #said = "";
  #before = "";
  #repeats = false;

  constructor(write: (text: string) => void) {
    this.#write = write;
  }

  begin(): void {
    this.#said = "";
    this.#repeats = this.#before !== "";
    if (!this.#repeats) this.#endLine();
  }

  add(text: string): void {
    this.#said += text;
    if (!this.#repeats) return this.#put(text);
    if (this.#before.startsWith(this.#said)) return;
    this.#repeats = false;
    if (this.#said.startsWith(this.#before))
      return this.#put(this.#said.slice(this.#before.length));
    this.#beginAnew();
  }

  end(how: "whole" | "broken off"): void {
    // It ended before it had said what was said before.
    if (this.#repeats && how === "whole" && this.#said !== this.#before) this.#beginAnew();
    const isLonger = this.#said.length > this.#before.length || !this.#repeats;
    this.#before = how === "whole" ? "" : isLonger ? this.#said : this.#before;
    this.#repeats = false;
    if (how === "whole") this.#endLine();
  }

  /** What comes next is the answer to something else. */
  forget(): void {
    this.#before = "";
    this.#endLine();
  }

  close(): void {
    this.#endLine();
  }

  #beginAnew(): void {
    this.#repeats = false;
    this.#endLine();
    this.#put(this.#said);
  }

  #endLine(): void {
    this.#half = "";
    if (!this.#atLineStart) this.#write("\n");
    this.#atLineStart = true;
  }

  #put(text: string): void {
    const whole = this.#half + text;
    this.#half = /[\uD800-\uDBFF]$/.exec(whole)?.[0] ?? "";
    const clean = cleanText(whole.slice(0, whole.length - this.#half.length));
    if (clean === "") return;
    this.#write(clean);
    this.#atLineStart = clean.endsWith("\n");
  }
}
