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

/** `$$…$$` and `\[…\]` on lines of their own, also over several. */
const blockPattern = /^ {0,3}(?:\$\$([\s\S]+?)\$\$|\\\[([\s\S]+?)\\\])[ \t]*(?:\n+|$)/;
const inlinePattern = /^(?:\$\$([^$]+?)\$\$|\\\[([\s\S]+?)\\\])/;
const parenthesisPattern = /^\\\(([\s\S]+?)\\\)/;
/** Not before a blank or a figure that could be a price's, not over the end of a line. */
const dollarPattern = /^\$(?![\s$])((?:\\[^\n]|[^\\$\n`]){1,500}?)(?<!\s)\$(?![\d$])/;

/**
 * What a pair of dollar signs means. `$5 and 10$` is money: what begins with a figure and has a blank in it is taken for a
 * formula only if something in it is never written in a price.
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
    const line = parenthesisPattern.exec(source);
    if (line !== null) return mathsToken(line[0], line[1] ?? "", "line");
    const money = dollarPattern.exec(source);
    if (money === null || !isFormula(money[1] ?? "")) return undefined;
    // `US$5` opens nothing, and neither does the end of a word.
    if (/[\p{L}\p{N}$\\]$/u.test(tokens.at(-1)?.raw ?? "")) return undefined;
    return mathsToken(money[0], money[1] ?? "", "line");
  },
};

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
