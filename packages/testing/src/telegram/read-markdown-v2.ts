/**
 * What Telegram shows for a MarkdownV2 text, or why it refuses it. Written from its documentation, without any of our
 * code.
 */
export type Read =
  | { readonly ok: true; readonly text: string; readonly code: readonly string[] }
  | { readonly ok: false; readonly reason: string };

const reserved = new Set("_*[]()~`>#+-=|{}.!");
const paired = ["__", "||", "*", "_", "~"];

class Unreadable extends Error {}

export function readMarkdownV2(source: string): Read {
  const reader = new Reader(source);
  try {
    return { ok: true, text: reader.read(), code: reader.code };
  } catch (error) {
    if (!(error instanceof Unreadable)) throw error;
    return { ok: false, reason: error.message };
  }
}

class Reader {
  readonly #source: string;
  readonly code: string[] = [];
  readonly #open: string[] = [];
  #at = 0;

  constructor(source: string) {
    this.#source = source;
  }

  read(): string {
    let text = "";
    while (this.#at < this.#source.length) text += this.#next();
    const [unclosed] = this.#open;
    if (unclosed !== undefined) throw new Unreadable(`Can't find end of ${unclosed} entity`);
    return text;
  }

  #next(): string {
    const character = this.#source[this.#at] ?? "";
    if (character === "\\") return this.#escaped();
    if (!reserved.has(character)) {
      this.#at += 1;
      return character;
    }
    if (this.#startsWith("```")) return this.#codeUntil("```");
    if (character === "`") return this.#codeUntil("`");
    if (character === "[") return this.#begin("[", 1);
    if (character === "]" && this.#open.at(-1) === "[") return this.#endLink();
    const mark = paired.find((candidate) => this.#startsWith(candidate));
    if (mark === undefined)
      throw new Unreadable(`Character '${character}' is reserved and must be escaped`);
    if (this.#open.at(-1) === mark) {
      this.#open.pop();
      this.#at += mark.length;
      return "";
    }
    if (this.#open.includes(mark)) throw new Unreadable(`${mark} entities are not nested well`);
    return this.#begin(mark, mark.length);
  }

  #startsWith(text: string): boolean {
    return this.#source.startsWith(text, this.#at);
  }

  #begin(mark: string, length: number): string {
    this.#open.push(mark);
    this.#at += length;
    return "";
  }

  #escaped(): string {
    const next = this.#source[this.#at + 1];
    if (next === undefined) throw new Unreadable("The text ends with a backslash");
    const code = next.charCodeAt(0);
    this.#at += code >= 1 && code <= 126 ? 2 : 1;
    return code >= 1 && code <= 126 ? next : "\\";
  }

  #codeUntil(end: string): string {
    this.#at += end.length;
    let text = "";
    for (;;) {
      if (this.#at >= this.#source.length) throw new Unreadable(`Can't find end of ${end} entity`);
      if (this.#startsWith(end)) break;
      const isEscape = this.#source[this.#at] === "\\" && this.#at + 1 < this.#source.length;
      text += this.#source[this.#at + (isEscape ? 1 : 0)] ?? "";
      this.#at += isEscape ? 2 : 1;
    }
    this.#at += end.length;
    if (end === "```") text = text.replace(/^[^\s]*\n/, "").replace(/\n$/, "");
    this.code.push(text);
    return text;
  }

  #endLink(): string {
    this.#open.pop();
    this.#at += 1;
    if (!this.#startsWith("(")) return "";
    for (this.#at += 1; ; this.#at += 1) {
      const character = this.#source[this.#at];
      if (character === undefined) throw new Unreadable("Can't find end of a URL");
      if (character === ")") break;
      if (character === "\\") this.#at += 1;
    }
    this.#at += 1;
    return "";
  }
}
