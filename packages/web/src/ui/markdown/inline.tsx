import type { Token } from "marked";
import { Fragment, type ReactNode } from "react";
import type { MarkdownToken } from "./blocks.ts";
import { Formula } from "./formula.tsx";
import { decodeEntities, safeLink, safeImage } from "./safe-text.ts";

/** Inline HTML tags that only format text. */
const formattingTags = new Set(
  "b i u s em strong kbd sub sup del ins mark small q samp var".split(" "),
);
type FormattingTag = "b" | "i" | "kbd";

/** Renders tokens as elements. No model output passes through an HTML parser here. */
export function renderInline(tokens: readonly Token[] | undefined): ReactNode {
  const rendered: ReactNode[] = [];
  const list = tokens ?? [];
  for (let index = 0; index < list.length; index++) {
    const token = list[index] as MarkdownToken;
    const opened = token.type === "html" ? /^<([a-z]+)>$/i.exec(token.raw)?.[1]?.toLowerCase() : "";
    const end = opened && formattingTags.has(opened) ? closingIndex(list, index, opened) : -1;
    if (opened && end !== -1) {
      // One of `formattingTags`, whose elements all take the same props.
      const Tag = opened as FormattingTag;
      rendered.push(<Tag key={index}>{renderInline(list.slice(index + 1, end))}</Tag>);
      index = end;
    } else rendered.push(<Fragment key={index}>{renderToken(token)}</Fragment>);
  }
  return rendered;
}

function closingIndex(tokens: readonly Token[], from: number, name: string): number {
  return tokens.findIndex(
    (token, index) => index > from && token.raw.toLowerCase() === `</${name}>`,
  );
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
  if (safe === null) return <span className="blocked-link">{children}</span>;
  return (
    <a href={safe} title={safe} target="_blank" rel="noopener noreferrer nofollow">
      {children}
    </a>
  );
}

function InlineImage({ href, text }: { href: string; text: string }) {
  const src = safeImage(href);
  if (src !== null) return <img className="inline-image" src={src} alt={text} />;
  return <Link href={href}>{text === "" ? href : text}</Link>;
}
