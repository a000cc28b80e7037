import type { TokenizerExtension } from "marked";

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

export const mathsBlock: TokenizerExtension = {
  name: "maths",
  level: "block",
  start: (source) => /\n {0,3}(?:\$\$|\\\[)/.exec(source)?.index,
  tokenizer(source) {
    const found = blockPattern.exec(source);
    return found === null ? undefined : mathsToken(found[0], found[1] ?? found[2] ?? "", "display");
  },
};

export const mathsInLine: TokenizerExtension = {
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
