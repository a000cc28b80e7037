import { Lexer, Marked, type MarkedToken, type Token, type Tokens } from "marked";
import type { Style } from "./paint.ts";
import type { Span } from "./wrap.ts";

/** Formulas stay as they were written: Markdown would take their backslashes, stars and underscores. */
const formula =
  /^(?:\\\(.+?\\\)|\\\[.+?\\\]|\$\$.+?\$\$|\$(?![\s$])[^$]*?[\\^_{}=][^$]*?(?<!\s)\$(?!\d))/;

const { defaults } = new Marked({
  extensions: [
    {
      name: "formula",
      level: "inline",
      start: (text) => /\\[([]|\$/.exec(text)?.index,
      tokenizer(text) {
        const raw = formula.exec(text)?.[0];
        return raw === undefined ? undefined : { type: "formula", raw };
      },
    },
  ],
});

/** Inline Markdown as styled spans. Everything else, including HTML and entities, stays as written. */
export function readInline(text: string, styles: readonly Style[] = []): Span[] {
  return spansOf(Lexer.lexInline(text, defaults), styles);
}

function spansOf(tokens: readonly Token[], styles: readonly Style[]): Span[] {
  // The one other kind, a formula, is shown as written.
  return tokens.flatMap((token) => spansOfToken(token as MarkedToken, styles));
}

function spansOfToken(token: MarkedToken, styles: readonly Style[]): Span[] {
  switch (token.type) {
    case "strong":
      return spansOf(token.tokens, [...styles, "bold"]);
    case "em":
      return spansOf(token.tokens, [...styles, "italic"]);
    case "del":
      return spansOf(token.tokens, [...styles, "dim"]);
    case "codespan":
      return [{ text: token.text, styles: [...styles, "code"] }];
    case "escape":
      return [{ text: token.text, styles }];
    case "link":
      return linkSpans(token, spansOf(token.tokens, [...styles, "underline"]), styles);
    case "image": {
      const label = { text: `[image: ${token.text}]`, styles: [...styles, "dim" as const] };
      return linkSpans(token, [label], styles);
    }
    default:
      return [{ text: token.raw, styles }];
  }
}

/** Always shows the address: a label may lie about where a link leads. */
function linkSpans(
  { raw, text, href }: Tokens.Link | Tokens.Image,
  label: readonly Span[],
  styles: readonly Style[],
): Span[] {
  const isBareAddress = !/^!?\[/.test(raw);
  if (isBareAddress || text === href) return [{ text, styles: [...styles, "dim"] }];
  return [
    ...label,
    ...(href === "" ? [] : [{ text: ` (${href})`, styles: [...styles, "dim" as const] }]),
  ];
}
