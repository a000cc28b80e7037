/** So many characters of answers are kept. */
const maxCachedChars = 2 * 1024 * 1024;
/** What each is counted for at least: there is more to a row than its lists. */
const minEntryChars = 1_000;

/** Answers that hold as long as nobody has written to the file: who looks again and again reads it once. */
export class QueryCache {
  readonly #answers = new Map<string, { readonly value: unknown }>();
  #version: unknown;
  #length = 0;

  /** To be told the file's version before each look. */
  setDataVersion(version: unknown): void {
    if (version === this.#version) return;
    this.#version = version;
    this.#clear();
  }

  get(question: string): { readonly value: unknown } | undefined {
    return this.#answers.get(question);
  }

  set(question: string, value: unknown, length: number): void {
    const needed = question.length + Math.max(length, minEntryChars);
    if (this.#length + needed > maxCachedChars) this.#clear();
    this.#answers.set(question, { value });
    this.#length += needed;
  }

  #clear(): void {
    this.#answers.clear();
    this.#length = 0;
  }
}
