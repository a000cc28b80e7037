import { Lexer, Marked, type MarkedToken, type TokensList } from "marked";
import { mathsBlock, mathsInLine, type MathsToken } from "./maths-rules.ts";

const lexerOptions = new Marked({ gfm: true, extensions: [mathsBlock, mathsInLine] }).defaults;

/** All that the lexer makes: its own tokens, and formulas. */
export type MarkdownToken = MarkedToken | MathsToken;

/** A piece of a text that is drawn by itself, and anew only when it changes. */
export interface Block {
  readonly raw: string;
  readonly isOpen: boolean;
}

export interface BlockSplitter {
  /** The text in blocks. One that only grew costs what is new, however long it is. */
  split(text: string, growth: "grows" | "settled"): readonly Block[];
  readonly links: TokensList["links"];
}

/** What comes may still change these: a list that goes on behind a blank, a line that becomes a heading. */
const unsettledTokens = 3;

export function createBlockSplitter(): BlockSplitter {
  let text = "";
  let raws: string[] = [];
  const links: TokensList["links"] = Object.create(null) as TokensList["links"];
  return {
    links,
    split(next, growth) {
      const grew = next.length >= text.length && next.startsWith(text);
      const kept = grew ? raws.slice(0, -unsettledTokens) : [];
      const from = kept.reduce((sum, raw) => sum + raw.length, 0);
      const lexer = new Lexer(lexerOptions);
      // The lexer reads tabs and ends of lines as it likes; lengths must stay those of the text.
      const found = lexer.blockTokens(next.slice(from), []).map(({ raw }) => raw);
      Object.assign(links, lexer.tokens.links);
      text = next;
      raws = found.join("").length === next.length - from ? [...kept, ...found] : [next];
      return raws
        .map((raw, index) => ({ raw, isOpen: growth === "grows" && index === raws.length - 1 }))
        .filter(({ raw }) => raw.trim() !== "");
    },
  };
}

export function lexBlock({ raw, isOpen }: Block, links: TokensList["links"]): MarkdownToken[] {
  const lexer = new Lexer(lexerOptions);
  Object.assign(lexer.tokens.links, links);
  // With these extensions the lexer makes no other tokens than these.
  return lexer.lex(isOpen ? closeOpenEnds(raw) : raw) as MarkdownToken[];
}

/** What a stream has begun is shown as it will be: no asterisks that vanish, no half of an address. */
export function closeOpenEnds(raw: string): string {
  if (/^ {0,3}(`{3,}|~{3,})/.test(raw)) return raw;
  // A formula whose end is still to come is shown as it is written.
  if (/^ {0,3}(?:\$\$(?![\s\S]*\$\$)|\\\[(?![\s\S]*\\\]))/.test(raw)) return `\`\`\`math\n${raw}\n`;
  const text = raw
    .replace(/\[([^\][\n]*)\]\([^()\s]*$/, "$1")
    .replace(/!?\[([^\][\n]*)$/, "$1")
    .replace(/(?<![*_\\])[*_]{1,3}$/, "");
  if (countMatches(text, /`/g) % 2 === 1) return `${text}\``;
  return countMatches(text, /\*\*/g) % 2 === 1 ? `${text}**` : text;
}

function countMatches(text: string, what: RegExp): number {
  return text.match(what)?.length ?? 0;
}
