import { memo } from "react";
import { Icon } from "../../ui/icons.tsx";
import { strings } from "../../strings/strings.ts";
import type { LiveView, Part, ToolResultPart } from "@holdfast/protocol";
import { Markdown } from "../../ui/markdown/markdown.tsx";
import { formatMoment, formatClock } from "../../ui/format-time.ts";
import { MessageActions } from "./message-actions.tsx";
import { ImageView, FileView } from "./attachment-view.tsx";
import { ToolCard } from "./tool-card.tsx";
import { sameRow, type MessageRow, type Row } from "./rows.ts";

type AnyMessageRow = MessageRow | Extract<Row, { kind: "live" }>;

interface MessageProps {
  readonly row: AnyMessageRow;
}

/** A streaming or settled message. Both use the same elements, so that settling shifts no layout. */
export const Message = memo(
  function Message({ row }: MessageProps) {
    const role = row.kind === "live" ? "assistant" : row.entry.role;
    const entry = row.kind === "live" ? null : row.entry;
    return (
      <article
        className={`message ${role}${row.begins ? " begins" : ""}`}
        aria-label={strings.talk.role[role]}
        data-seq={entry?.seq}
        aria-busy={row.kind === "live"}
      >
        <div className="message-body">
          <MessageParts row={row} />
          {entry?.superseded === true && <p className="aside">{strings.talk.superseded}</p>}
          {entry?.partial !== undefined && (
            <p className="aside ended">
              <Icon name="stop" />
              {strings.talk.partial[entry.partial]}
            </p>
          )}
        </div>
        {row.kind === "message" && row.ends && (
          <footer className="message-foot">
            <MessageActions entry={row.entry} />
            <time
              dateTime={new Date(row.entry.at).toISOString()}
              title={formatMoment(row.entry.at)}
            >
              {formatClock(row.entry.at)}
            </time>
            {row.entry.model !== undefined && <span>{row.entry.model}</span>}
          </footer>
        )}
      </article>
    );
  },
  (previous, next) => sameRow(previous.row, next.row),
);

function MessageParts({ row }: { row: AnyMessageRow }) {
  if (row.kind === "live") {
    const { parts } = row.message;
    const last = parts.length - 1;
    return parts.map(({ part, kind, text }, index) => {
      const growth = index === last ? "grows" : "settled";
      return kind === "reasoning" ? (
        <Reasoning key={index} text={text} growth={growth} />
      ) : (
        <Markdown key={part} text={text} growth={growth} />
      );
    });
  }
  const { entry, results, live } = row;
  return entry.parts.map((part, index) =>
    entry.role === "user" && part.type === "text" ? (
      <p key={index} className="as-written" dir="auto">
        {part.text}
      </p>
    ) : (
      <PartView key={index} part={part} result={results[index] ?? null} live={live} />
    ),
  );
}

interface PartProps {
  readonly part: Part;
  readonly result: ToolResultPart | null;
  readonly live: LiveView | null;
}

function PartView({ part, result, live }: PartProps) {
  switch (part.type) {
    case "text":
      return (
        <>
          {part.recovered === true && <RecoveredNotice />}
          <Markdown text={part.text} />
        </>
      );
    case "notice":
      return <p className="aside">{part.text}</p>;
    case "reasoning":
      return <Reasoning text={part.text} growth="settled" />;
    case "tool_call":
      return (
        <ToolCard
          name={part.name}
          input={part.input}
          result={result}
          running={live?.tools.find(({ callId }) => callId === part.callId) ?? null}
          approval={live?.approvals.find(({ callId }) => callId === part.callId) ?? null}
          isLive={live !== null}
        />
      );
    case "tool_result":
      return (
        <ToolCard name={part.name} result={part} running={null} approval={null} isLive={false} />
      );
    case "file":
      return <FileView file={part} />;
    case "image":
      return <ImageView image={part} />;
    case "attached":
      return (
        <details className="fold">
          <summary>
            <Icon name="memory" />
            {strings.talk.attached(part.source)}
          </summary>
          <p className="as-written">{part.text}</p>
        </details>
      );
  }
}

interface ReasoningProps {
  readonly text: string;
  readonly growth: "grows" | "settled";
}

/** Collapsed by default: reasoning is available but is not part of the answer. */
function Reasoning({ text, growth }: ReasoningProps) {
  const isThinking = growth === "grows";
  return (
    <details className="fold thoughts">
      <summary>
        <Icon name="thought" />
        <span className={isThinking ? "pulsing" : undefined}>
          {isThinking ? strings.talk.thinking : strings.talk.thoughts}
        </span>
        {isThinking && <span className="thoughts-tail">{text.slice(-90)}</span>}
      </summary>
      <p className="as-written" dir="auto">
        {text}
      </p>
    </details>
  );
}

function RecoveredNotice() {
  return (
    <p className="aside">
      <Icon name="refresh" />
      {strings.talk.recovered}
    </p>
  );
}
