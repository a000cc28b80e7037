import { isCostlyMarkdown } from "@holdfast/client";
import type { Tokens, TokensList } from "marked";
import { memo, type ReactNode, useMemo, useState } from "react";
import { type Block, createBlockSplitter, lexBlock, type MarkdownToken } from "./blocks.ts";
import { CodeBlock } from "./code-block.tsx";
import { Diagram } from "./diagram.tsx";
import { Formula } from "./formula.tsx";
import { renderInline } from "./inline.tsx";
import { strings } from "../../strings/strings.ts";
import { sanitiseMarkup } from "./sanitise.ts";

/** A longer block is shown as plain text: nothing meant to be read is that long. */
const maxBlockLength = 60_000;

interface MarkdownProps {
  readonly text: string;
  readonly growth?: "grows" | "settled";
}

/** Renders Markdown block by block: while a text streams, only its last block is rendered again. */
export const Markdown = memo(function Markdown({ text, growth = "settled" }: MarkdownProps) {
  const [splitter] = useState(createBlockSplitter);
  const blocks = useMemo(() => splitter.split(text, growth), [splitter, text, growth]);
  return (
    <div className="markdown" dir="auto">
      {blocks.map((block, index) => (
        <BlockView key={index} raw={block.raw} isOpen={block.isOpen} links={splitter.links} />
      ))}
    </div>
  );
});

interface BlockProps extends Block {
  readonly links: TokensList["links"];
}

const BlockView = memo(function BlockView({ links, raw, isOpen }: BlockProps) {
  if (raw.length > maxBlockLength || isCostlyMarkdown(raw))
    return <p className="as-written">{raw}</p>;
  return (
    <>{lexBlock({ raw, isOpen }, links).map((token, index) => renderToken(token, index, isOpen))}</>
  );
});

function renderToken(token: MarkdownToken, key: number, isOpen: boolean): ReactNode {
  switch (token.type) {
    case "paragraph":
      return (
        <p key={key} dir="auto">
          {renderInline(token.tokens)}
        </p>
      );
    case "text":
      return <span key={key}>{renderInline(token.tokens ?? [token])}</span>;
    case "heading":
      return <Heading key={key} token={token} />;
    case "code":
      return <Fence key={key} token={token} isOpen={isOpen} />;
    case "maths":
      return <Formula key={key} source={token.text} layout={token.layout} />;
    case "blockquote":
      return <blockquote key={key}>{renderTokens(token.tokens, isOpen)}</blockquote>;
    case "list":
      return <List key={key} token={token} isOpen={isOpen} />;
    case "table":
      return <Table key={key} token={token} />;
    case "hr":
      return <hr key={key} />;
    case "html":
      return <div key={key} dangerouslySetInnerHTML={{ __html: sanitiseMarkup(token.text) }} />;
    case "space":
    case "def":
    case "checkbox":
      return null;
    default:
      return <p key={key}>{renderInline([token])}</p>;
  }
}

function renderTokens(tokens: readonly unknown[], isOpen: boolean): ReactNode {
  return (tokens as readonly MarkdownToken[]).map((token, index) =>
    renderToken(token, index, isOpen),
  );
}

/** A code block, or the drawing of a complete diagram or formula. */
function Fence({ token, isOpen }: { token: Tokens.Code; isOpen: boolean }) {
  const language = token.lang?.split(/[\s,{]/, 1)[0] ?? "";
  const drawingLanguage = isOpen ? "" : language.toLowerCase();
  if (drawingLanguage === "mermaid") return <Diagram source={token.text} />;
  if (drawingLanguage === "math") return <Formula source={token.text} layout="display" />;
  return <CodeBlock code={token.text} language={language} isOpen={isOpen} />;
}

/** The page uses h1 and h2 itself, so the headings of a message start at h3. */
function Heading({ token }: { token: Tokens.Heading }) {
  const Tag = (["h3", "h4", "h5", "h6"] as const)[token.depth - 1] ?? "h6";
  return <Tag dir="auto">{renderInline(token.tokens)}</Tag>;
}

function List({ token, isOpen }: { token: Tokens.List; isOpen: boolean }) {
  const items = token.items.map((item, index) => (
    <li key={index} dir="auto" className={item.task ? "task" : undefined}>
      {item.task && <input type="checkbox" checked={item.checked ?? false} disabled readOnly />}
      {renderTokens(item.tokens, isOpen)}
    </li>
  ));
  return token.ordered ? (
    <ol start={token.start === "" ? 1 : token.start}>{items}</ol>
  ) : (
    <ul>{items}</ul>
  );
}

function Table({ token }: { token: Tokens.Table }) {
  const renderCells = (cells: readonly Tokens.TableCell[], Tag: "td" | "th"): ReactNode =>
    cells.map((cell, index) => (
      <Tag key={index} dir="auto" className={cell.align ? `align-${cell.align}` : undefined}>
        {renderInline(cell.tokens)}
      </Tag>
    ));
  return (
    // oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex
    <section className="table" aria-label={strings.code.table} tabIndex={0}>
      <table>
        <thead>
          <tr>{renderCells(token.header, "th")}</tr>
        </thead>
        <tbody>
          {token.rows.map((row, index) => (
            <tr key={index}>{renderCells(row, "td")}</tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}
