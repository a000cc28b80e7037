/** So many characters of answers are kept. */
const most = 2 * 1024 * 1024;
/** What each is counted for at least: there is more to a row than its lists. */
const least = 1_000;

/** Answers that hold as long as nobody has written to the file: who looks again and again reads it once. */
export class Unchanged {
  readonly #answers = new Map<string, { readonly value: unknown }>();
  #version: unknown;
  #length = 0;

  /** To be told the file's version before each look. */
  seen(version: unknown): void {
    if (version === this.#version) return;
    this.#version = version;
    this.#clear();
  }

  get(question: string): { readonly value: unknown } | undefined {
    return this.#answers.get(question);
  }

  keep(question: string, value: unknown, length: number): void {
    const needed = question.length + Math.max(length, least);
    if (this.#length + needed > most) this.#clear();
    this.#answers.set(question, { value });
    this.#length += needed;
  }

  #clear(): void {
    this.#answers.clear();
    this.#length = 0;
  }
}
