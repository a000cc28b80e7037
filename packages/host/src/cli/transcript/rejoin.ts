import type { TranscriptPiece } from "./pieces.ts";

type PartialCause = Extract<TranscriptPiece, { kind: "wordsEnd" }>["partial"];

/**
 * What was shown cannot be taken back. So where an answer was broken off and is given again, as after a crash of its
 * host, it is gone on with as long as it says the same, and only begun anew where it says something else.
 */
export class ReplayMerger {
  /** Words that were broken off, whether that has been told, and why it happened. */
  #before = "";
  #held: { readonly partial: PartialCause } | null = null;
  /** The answer that is being given, and whether all of it has been said before. */
  #said = "";
  #repeats = false;

  merge(pieces: readonly TranscriptPiece[]): TranscriptPiece[] {
    return pieces.flatMap((piece) => this.#one(piece));
  }

  #one(piece: TranscriptPiece): TranscriptPiece[] {
    switch (piece.kind) {
      case "words":
        return this.#words(piece);
      case "wordsEnd":
        return piece.partial === undefined ? this.#whole(piece) : this.#brokenOff(piece.partial);
      case "notice":
      case "thought":
        return [piece];
      case "said":
      case "toolBegan":
      case "toolEnded":
      case "summary":
      case "cut":
      case "returned":
      case "runEnded":
        // Nobody goes on with it any more.
        return [...this.#letGo(), piece];
    }
  }

  #words(piece: Extract<TranscriptPiece, { kind: "words" }>): TranscriptPiece[] {
    if (piece.isNew) {
      this.#said = "";
      this.#repeats = this.#held !== null;
    }
    this.#said += piece.text;
    if (!this.#repeats) return [piece];
    if (this.#before.startsWith(this.#said)) return [];
    if (!this.#said.startsWith(this.#before)) return this.#beginAnew();
    this.#repeats = false;
    this.#held = null;
    return [{ kind: "words", text: this.#said.slice(this.#before.length), isNew: false }];
  }

  #whole(end: TranscriptPiece): TranscriptPiece[] {
    const isOther = this.#repeats && this.#said !== this.#before;
    const anew = isOther ? this.#beginAnew() : [];
    this.#forget();
    return [...anew, end];
  }

  #brokenOff(partial: PartialCause): TranscriptPiece[] {
    // One that stopped before it had said all of the last one has added nothing to it.
    if (!this.#repeats) this.#before = this.#said;
    this.#repeats = false;
    this.#held = { partial };
    return [];
  }

  #beginAnew(): TranscriptPiece[] {
    const said = this.#said;
    const told = this.#letGo();
    this.#said = said;
    return [...told, { kind: "words", text: said, isNew: true }];
  }

  #letGo(): TranscriptPiece[] {
    const told: TranscriptPiece[] =
      this.#held === null ? [] : [{ kind: "wordsEnd", partial: this.#held.partial }];
    this.#forget();
    return told;
  }

  #forget(): void {
    this.#before = "";
    this.#said = "";
    this.#held = null;
    this.#repeats = false;
  }
}
