/** Pieces are joined when they have become as long as this. */
const blockLength = 512;

/**
 * A text that grows by small pieces. Adding one string to another keeps both, and the place where they meet, for as long as
 * the sum is kept: here what has gathered is written out as one block, and the blocks are put together when they are read.
 */
export class TextBuilder {
  #blocks: string[] = [];
  #pieces: string[] = [];
  #gathered = 0;

  add(piece: string): void {
    this.#pieces.push(piece);
    this.#gathered += piece.length;
    if (this.#gathered >= blockLength) this.#join();
  }

  toString(): string {
    this.#join();
    if (this.#blocks.length > 1) this.#blocks = [this.#blocks.join("")];
    return this.#blocks[0] ?? "";
  }

  #join(): void {
    if (this.#pieces.length === 0) return;
    this.#blocks.push(this.#pieces.join(""));
    this.#pieces = [];
    this.#gathered = 0;
  }
}
