import type { Tokens, TokensList } from "marked";
import { memo, type ReactNode, useMemo, useState } from "react";
import { type Block, createBlockSplitter, lexBlock, type MarkdownToken } from "./blocks.ts";
import { CodeBlock } from "./code-block.tsx";
import { Diagram } from "./diagram.tsx";
import { Formula } from "./formula.tsx";
import { renderInline } from "./inline.tsx";
import { strings } from "../../strings/strings.ts";
import { sanitiseMarkup } from "./sanitise.ts";

/** Past this a block is shown as it was written: nothing that is meant to be read is so long. */
const maxBlockLength = 60_000;

interface MarkdownProps {
  readonly text: string;
  readonly growth?: "grows" | "settled";
}

/** What a model says, drawn block by block: while it streams only the last block is drawn again. */
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
  if (raw.length > maxBlockLength) return <p className="as-written">{raw}</p>;
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

/** Code; or what is drawn, once it is whole. */
function Fence({ token, isOpen }: { token: Tokens.Code; isOpen: boolean }) {
  const language = token.lang?.split(/[\s,{]/, 1)[0] ?? "";
  const drawnAs = isOpen ? "" : language.toLowerCase();
  if (drawnAs === "mermaid") return <Diagram source={token.text} />;
  if (drawnAs === "math") return <Formula source={token.text} layout="display" />;
  return <CodeBlock code={token.text} language={language} isOpen={isOpen} />;
}

/** The page has its own first headings: those of a message begin below them. */
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
  const cell = (cells: readonly Tokens.TableCell[], Tag: "td" | "th"): ReactNode =>
    cells.map((each, index) => (
      <Tag key={index} dir="auto" className={each.align ? `align-${each.align}` : undefined}>
        {renderInline(each.tokens)}
      </Tag>
    ));
  return (
    // oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex
    <section className="table" aria-label={strings.code.table} tabIndex={0}>
      <table>
        <thead>
          <tr>{cell(token.header, "th")}</tr>
        </thead>
        <tbody>
          {token.rows.map((row, index) => (
            <tr key={index}>{cell(row, "td")}</tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}
