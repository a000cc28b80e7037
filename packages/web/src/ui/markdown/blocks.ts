import { isCostlyMarkdown } from "@holdfast/client";
import { type TokenizerExtension, Lexer, Marked, type MarkedToken, type TokensList } from "marked";

export interface MathsToken {
  readonly type: "maths";
  readonly raw: string;
  readonly text: string;
  readonly layout: "line" | "display";
}

const maxFormulaLength = 5_000;

function mathsToken(
  raw: string,
  text: string,
  layout: MathsToken["layout"],
): MathsToken | undefined {
  const formula = text.trim();
  if (formula === "" || formula.length > maxFormulaLength) return undefined;
  return { type: "maths", raw, text: formula, layout };
}

/** `$$…$$` and `\[…\]` as a block, on one line or several. */
const blockPattern = /^ {0,3}(?:\$\$([\s\S]+?)\$\$|\\\[([\s\S]+?)\\\])[ \t]*(?:\n+|$)/;
const inlinePattern = /^(?:\$\$([^$]+?)\$\$|\\\[([\s\S]+?)\\\])/;
const parenthesisPattern = /^\\\(([\s\S]+?)\\\)/;
/** On one line, with no space inside the dollar signs and no digit after them: that could be a price. */
const dollarPattern = /^\$(?![\s$])((?:\\[^\n]|[^\\$\n`]){1,500}?)(?<!\s)\$(?![\d$])/;

/**
 * Tells formulas from prices, such as `$5 and 10$`: a text that starts with a digit and contains a space is a formula
 * only if it has a character that no price contains.
 */
function isFormula(text: string): boolean {
  if (!/^[\d.,]/.test(text)) return true;
  return /[\\^_={}<>+*/|]/.test(text) || !/\s/.test(text);
}

const mathsBlock: TokenizerExtension = {
  name: "maths",
  level: "block",
  start: (source) => /\n {0,3}(?:\$\$|\\\[)/.exec(source)?.index,
  tokenizer(source) {
    const found = blockPattern.exec(source);
    return found === null ? undefined : mathsToken(found[0], found[1] ?? found[2] ?? "", "display");
  },
};

const mathsInLine: TokenizerExtension = {
  name: "mathsInLine",
  level: "inline",
  start: (source) => /\$|\\[([]/.exec(source)?.index,
  tokenizer(source, tokens) {
    const display = inlinePattern.exec(source);
    if (display !== null) return mathsToken(display[0], display[1] ?? display[2] ?? "", "display");
    const inline = parenthesisPattern.exec(source);
    if (inline !== null) return mathsToken(inline[0], inline[1] ?? "", "line");
    const dollars = dollarPattern.exec(source);
    if (dollars === null || !isFormula(dollars[1] ?? "")) return undefined;
    // No formula starts inside a word, such as `US$5`.
    if (/[\p{L}\p{N}$\\]$/u.test(tokens.at(-1)?.raw ?? "")) return undefined;
    return mathsToken(dollars[0], dollars[1] ?? "", "line");
  },
};

const lexerOptions = new Marked({ gfm: true, extensions: [mathsBlock, mathsInLine] }).defaults;

export type MarkdownToken = MarkedToken | MathsToken;

/** A part of a text that is rendered by itself, and again only when it changes. `isOpen`: it may still grow. */
export interface Block {
  readonly raw: string;
  readonly isOpen: boolean;
}

export interface BlockSplitter {
  /** Splits the text into blocks. If it only grew, the cost depends on what is new, not on its length. */
  split(text: string, growth: "grows" | "settled"): readonly Block[];
  readonly links: TokensList["links"];
}

/** Later text may still change the last tokens: a list may go on after a blank line, a line may become a heading. */
const unsettledTokens = 3;

export function createBlockSplitter(): BlockSplitter {
  let text = "";
  let raws: string[] = [];
  const links: TokensList["links"] = Object.create(null) as TokensList["links"];
  return {
    links,
    split(next, growth) {
      const grew = next.length >= text.length && next.startsWith(text);
      const settled = grew ? raws.slice(0, -unsettledTokens) : [];
      const from = settled.reduce((sum, raw) => sum + raw.length, 0);
      const rest = next.slice(from);
      if (isCostlyMarkdown(rest)) {
        text = next;
        raws = [...settled, rest];
        return blocksOf(raws, growth);
      }
      const lexer = new Lexer(lexerOptions);
      // `blockTokens` normalises tabs and line ends, so the check of lengths below decides whether the tokens are usable.
      const found = lexer.blockTokens(rest, []).map(({ raw }) => raw);
      Object.assign(links, lexer.tokens.links);
      text = next;
      raws = found.join("").length === next.length - from ? [...settled, ...found] : [next];
      return blocksOf(raws, growth);
    },
  };
}

function blocksOf(raws: readonly string[], growth: "grows" | "settled"): readonly Block[] {
  return raws
    .map((raw, index) => ({ raw, isOpen: growth === "grows" && index === raws.length - 1 }))
    .filter(({ raw }) => raw.trim() !== "");
}

export function lexBlock({ raw, isOpen }: Block, links: TokensList["links"]): MarkdownToken[] {
  const lexer = new Lexer(lexerOptions);
  Object.assign(lexer.tokens.links, links);
  // With these extensions the lexer produces no other tokens.
  return lexer.lex(isOpen ? closeOpenEnds(raw) : raw) as MarkdownToken[];
}

/** Closes or drops unfinished markup, so that a stream shows no asterisks that vanish and no half of a URL. */
export function closeOpenEnds(raw: string): string {
  if (/^ {0,3}(`{3,}|~{3,})/.test(raw)) return raw;
  // An unfinished formula is shown as source.
  if (/^ {0,3}(?:\$\$(?![\s\S]*\$\$)|\\\[(?![\s\S]*\\\]))/.test(raw)) return `\`\`\`math\n${raw}\n`;
  const text = raw
    .replace(/\[([^\][\n]*)\]\([^()\s]*$/, "$1")
    .replace(/!?\[([^\][\n]*)$/, "$1")
    .replace(/(?<![*_\\])[*_]{1,3}$/, "");
  if (countMatches(text, /`/g) % 2 === 1) return `${text}\``;
  return countMatches(text, /\*\*/g) % 2 === 1 ? `${text}**` : text;
}

function countMatches(text: string, pattern: RegExp): number {
  return text.match(pattern)?.length ?? 0;
}
