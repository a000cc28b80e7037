import type { Token } from "marked";
import { Fragment, type ReactNode } from "react";
import type { SaidToken } from "./blocks.ts";
import { Formula } from "./formula.tsx";
import { decodeEntities, safeLink, safePicture } from "./safe-text.ts";

/** Tags that people write inside a line and that do nothing but mark words. */
const marking = new Set("b i u s em strong kbd sub sup del ins mark small q samp var".split(" "));
type Marking = "b" | "i" | "kbd";

/** Tokens as elements. No text of a model passes through a parser of HTML here. */
export function drawInline(tokens: readonly Token[] | undefined): ReactNode {
  const drawn: ReactNode[] = [];
  const list = tokens ?? [];
  for (let at = 0; at < list.length; at++) {
    const token = list[at] as SaidToken;
    const opened = token.type === "html" ? /^<([a-z]+)>$/i.exec(token.raw)?.[1]?.toLowerCase() : "";
    const end = opened && marking.has(opened) ? closing(list, at, opened) : -1;
    if (opened && end !== -1) {
      // One of the set above, whose elements all take the same.
      const Tag = opened as Marking;
      drawn.push(<Tag key={at}>{drawInline(list.slice(at + 1, end))}</Tag>);
      at = end;
    } else drawn.push(<Fragment key={at}>{drawToken(token)}</Fragment>);
  }
  return drawn;
}

function closing(tokens: readonly Token[], from: number, name: string): number {
  return tokens.findIndex((token, at) => at > from && token.raw.toLowerCase() === `</${name}>`);
}

function drawToken(token: SaidToken): ReactNode {
  switch (token.type) {
    case "text":
      return token.tokens === undefined ? decodeEntities(token.text) : drawInline(token.tokens);
    case "maths":
      return <Formula source={token.text} layout={token.layout} />;
    case "escape":
      return token.text;
    case "strong":
      return <strong>{drawInline(token.tokens)}</strong>;
    case "em":
      return <em>{drawInline(token.tokens)}</em>;
    case "del":
      return <del>{drawInline(token.tokens)}</del>;
    case "codespan":
      return <code>{token.text}</code>;
    case "br":
      return <br />;
    case "link":
      return <Link href={token.href}>{drawInline(token.tokens)}</Link>;
    case "image":
      return <Picture href={token.href} text={token.text} />;
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

function Picture({ href, text }: { href: string; text: string }) {
  const picture = safePicture(href);
  if (picture !== null) return <img className="said-picture" src={picture} alt={text} />;
  return <Link href={href}>{text === "" ? href : text}</Link>;
}
