import type { Token } from "marked";
import { Fragment, type ReactNode } from "react";
import type { MarkdownToken } from "./blocks.ts";
import { Formula } from "./formula.tsx";
import { decodeEntities, safeLink, safeImage } from "./safe-text.ts";

/** Tags that people write inside a line and that do nothing but mark words. */
const markingTags = new Set(
  "b i u s em strong kbd sub sup del ins mark small q samp var".split(" "),
);
type Marking = "b" | "i" | "kbd";

/** Tokens as elements. No text of a model passes through a parser of HTML here. */
export function renderInline(tokens: readonly Token[] | undefined): ReactNode {
  const drawn: ReactNode[] = [];
  const list = tokens ?? [];
  for (let at = 0; at < list.length; at++) {
    const token = list[at] as MarkdownToken;
    const opened = token.type === "html" ? /^<([a-z]+)>$/i.exec(token.raw)?.[1]?.toLowerCase() : "";
    const end = opened && markingTags.has(opened) ? closingIndex(list, at, opened) : -1;
    if (opened && end !== -1) {
      // One of the set above, whose elements all take the same.
      const Tag = opened as Marking;
      drawn.push(<Tag key={at}>{renderInline(list.slice(at + 1, end))}</Tag>);
      at = end;
    } else drawn.push(<Fragment key={at}>{renderToken(token)}</Fragment>);
  }
  return drawn;
}

function closingIndex(tokens: readonly Token[], from: number, name: string): number {
  return tokens.findIndex((token, at) => at > from && token.raw.toLowerCase() === `</${name}>`);
}

function renderToken(token: MarkdownToken): ReactNode {
  switch (token.type) {
    case "text":
      return token.tokens === undefined ? decodeEntities(token.text) : renderInline(token.tokens);
    case "maths":
      return <Formula source={token.text} layout={token.layout} />;
    case "escape":
      return token.text;
    case "strong":
      return <strong>{renderInline(token.tokens)}</strong>;
    case "em":
      return <em>{renderInline(token.tokens)}</em>;
    case "del":
      return <del>{renderInline(token.tokens)}</del>;
    case "codespan":
      return <code>{token.text}</code>;
    case "br":
      return <br />;
    case "link":
      return <Link href={token.href}>{renderInline(token.tokens)}</Link>;
    case "image":
      return <InlineImage href={token.href} text={token.text} />;
    case "html":
      return /^<br\s*\/?>$/i.test(token.raw) ? <br /> : token.raw;
    default:
      return token.raw;
  }
}

function Link({ href, children }: { href: string; children: ReactNode }) {
  const safe = safeLink(href);
  if (safe === null) return <span className="no-link">{children}</span>;
  return (
    <a href={safe} title={safe} target="_blank" rel="noopener noreferrer nofollow">
      {children}
    </a>
  );
}

function InlineImage({ href, text }: { href: string; text: string }) {
  const picture = safeImage(href);
  if (picture !== null) return <img className="said-picture" src={picture} alt={text} />;
  return <Link href={href}>{text === "" ? href : text}</Link>;
}
