/** Pieces are joined when they have become as long as this, or as long as this part of what was joined before. */
const shortest = 1_024;
const partOfWhole = 1 / 4;

/**
 * A text that grows by small pieces. Adding one string to another keeps both, and the place where they meet, for as long as
 * the sum is kept: here what has gathered is written out as one, and little by little copied no more than a few times.
 */
export class GrowingText {
  #whole = "";
  #pieces: string[] = [];
  #gathered = 0;

  add(piece: string): void {
    this.#pieces.push(piece);
    this.#gathered += piece.length;
    if (this.#gathered >= Math.max(shortest, this.#whole.length * partOfWhole)) this.#join();
  }

  toString(): string {
    this.#join();
    return this.#whole;
  }

  #join(): void {
    if (this.#pieces.length === 0) return;
    this.#whole = [this.#whole, ...this.#pieces].join("");
    this.#pieces = [];
    this.#gathered = 0;
  }
}
