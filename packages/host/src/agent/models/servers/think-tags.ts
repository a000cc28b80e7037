const opening = "<think>";
const closing = "</think>";
/** Blanks before the tag; more of them are an answer. */
const maxBlanks = 200;

export interface TaggedText {
  readonly kind: "text" | "reasoning";
  readonly text: string;
}

/**
 * Takes the thoughts out of an answer that begins with `<think>`, as models do whose server does not know about
 * thoughts. Anywhere else the tag is text.
 */
export class ThinkTags {
  #at: "start" | "thoughts" | "after thoughts" | "answer" = "start";
  /** What may be the beginning of a tag. */
  #held = "";

  *push(delta: string): Generator<TaggedText> {
    let text = this.#held + delta;
    this.#held = "";
    if (this.#at === "start") {
      const begun = text.trimStart();
      const mayBegin = opening.startsWith(begun) && text.length <= maxBlanks;
      if (mayBegin) return void (this.#held = text);
      this.#at = begun.startsWith(opening) ? "thoughts" : "answer";
      if (this.#at === "thoughts") text = begun.slice(opening.length);
    }
    if (this.#at === "thoughts") {
      const end = text.indexOf(closing);
      const shown = text.slice(0, end === -1 ? text.length - lengthOfPartialTag(text) : end);
      if (shown !== "") yield { kind: "reasoning", text: shown };
      if (end === -1) return void (this.#held = text.slice(shown.length));
      this.#at = "after thoughts";
      text = text.slice(end + closing.length);
    }
    if (this.#at === "after thoughts") {
      text = text.trimStart();
      if (text === "") return;
      this.#at = "answer";
    }
    if (text !== "") yield { kind: "text", text };
  }

  /** What was held back, once nothing more comes. */
  *end(): Generator<TaggedText> {
    const text = this.#held;
    this.#held = "";
    if (text !== "") yield { kind: this.#at === "thoughts" ? "reasoning" : "text", text };
  }

  /** The server tells thoughts apart by itself. */
  expectNone(): void {
    if (this.#at === "start" && this.#held === "") this.#at = "answer";
  }
}

/** How many characters at the end may be the beginning of the closing tag. */
function lengthOfPartialTag(text: string): number {
  for (let length = Math.min(closing.length - 1, text.length); length > 0; length -= 1)
    if (text.endsWith(closing.slice(0, length))) return length;
  return 0;
}
