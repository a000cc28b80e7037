import type { LiveView, Part, ToolResultPart } from "@holdfast/protocol";
import { memo } from "react";
import { Icon } from "../../ui/icons.tsx";
import { Markdown } from "../../ui/markdown/markdown.tsx";
import { momentOf, timeOf } from "../../ui/format-time.ts";
import { words } from "../../strings/strings.ts";
import { MessageActions } from "./message-actions.tsx";
import { PictureView, FileView } from "./attachment-view.tsx";
import { Thoughts } from "./message.tsx";
import { ToolCard } from "./tool-card.tsx";
import { isSameRow, type MessageRow, type Row } from "./rows.ts";

type Spoken = MessageRow | Extract<Row, { kind: "live" }>;

interface MessageProps {
  readonly row: Spoken;
}

/** One message, being written or settled: the same elements for both, so that settling moves nothing. */
export const Message = memo(
  function Message({ row }: MessageProps) {
    const role = row.kind === "live" ? "assistant" : row.entry.role;
    const entry = row.kind === "live" ? null : row.entry;
    return (
      <article
        className={`message ${role}${row.begins ? " begins" : ""}`}
        aria-label={words.talk.role[role]}
        data-seq={entry?.seq}
        aria-busy={row.kind === "live"}
      >
        <div className="message-body">
          <Parts row={row} />
          {entry?.superseded === true && <p className="aside">{words.talk.superseded}</p>}
          {entry?.partial !== undefined && (
            <p className="aside ended">
              <Icon name="stop" />
              {words.talk.partial[entry.partial]}
            </p>
          )}
        </div>
        {row.kind === "message" && row.ends && (
          <footer className="message-foot">
            <MessageActions entry={row.entry} />
            <time dateTime={new Date(row.entry.at).toISOString()} title={momentOf(row.entry.at)}>
              {timeOf(row.entry.at)}
            </time>
            {row.entry.model !== undefined && <span>{row.entry.model}</span>}
          </footer>
        )}
      </article>
    );
  },
  (before, after) => isSameRow(before.row, after.row),
);

function Parts({ row }: { row: Spoken }) {
  if (row.kind === "live") {
    const { parts } = row.message;
    const last = parts.length - 1;
    return parts.map(({ part, kind, text }, index) => {
      const growth = index === last ? "grows" : "settled";
      return kind === "reasoning" ? (
        <Thoughts key={index} text={text} growth={growth} />
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
          {part.recovered === true && <Recovered />}
          <Markdown text={part.text} />
        </>
      );
    case "notice":
      return <p className="aside">{part.text}</p>;
    case "reasoning":
      return <Thoughts text={part.text} growth="settled" />;
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
      return <PictureView picture={part} />;
    case "attached":
      return (
        <details className="fold">
          <summary>
            <Icon name="memory" />
            {words.talk.attached(part.source)}
          </summary>
          <p className="as-written">{part.text}</p>
        </details>
      );
  }
}

function Recovered() {
  return (
    <p className="aside">
      <Icon name="refresh" />
      {words.talk.recovered}
    </p>
  );
}
