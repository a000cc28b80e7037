import { memo, useState } from "react";
import { Icon } from "../../ui/icons.tsx";
import { strings } from "../../strings/strings.ts";
import {
  type LiveView,
  type MessageEntry,
  type Part,
  textOf,
  timeSource,
  type ToolResultPart,
} from "@holdfast/protocol";
import { Markdown } from "../../ui/markdown/markdown.tsx";
import { useStore } from "../../app-context.ts";
import { formatMoment, formatClock } from "../../ui/format-time.ts";
import { useTalk } from "../store/talk-actions.ts";
import { MessageActions } from "./message-actions.tsx";
import { MessageEditor } from "./message-editor.tsx";
import { ModelName } from "./model-name.tsx";
import { MessageVersions } from "./message-versions.tsx";
import { ImageView, FileView } from "./attachment-view.tsx";
import { HostMessage, hostSourceOf } from "./host-message.tsx";
import { TurnSources } from "./sources.tsx";
import { ToolCard } from "./tool-card.tsx";
import { sameRow, type MessageRow, type Row, type TurnChanges } from "./rows.ts";

type AnyMessageRow = MessageRow | Extract<Row, { kind: "live" }>;

interface MessageProps {
  readonly row: AnyMessageRow;
}

/** A streaming or settled message. Both use the same elements, so that settling shifts no layout. */
export const Message = memo(
  function Message({ row }: MessageProps) {
    const role = row.kind === "live" ? "assistant" : row.entry.role;
    const entry = row.kind === "live" ? null : row.entry;
    const source = entry === null ? null : hostSourceOf(entry);
    const edit = useEdit(entry);
    return (
      <article
        className={`message ${source === null ? role : "host"}${row.begins ? " begins" : ""}${edit.isOpen ? " editing" : ""}`}
        aria-label={source === null ? strings.talk.role[role] : strings.talk.source[source]}
        data-seq={entry?.seq}
        aria-busy={row.kind === "live"}
      >
        <div className="message-body">
          {edit.isOpen && (
            <MessageEditor
              text={edit.text}
              hasFiles={edit.hasFiles}
              onChange={edit.change}
              onSend={edit.send}
              onCancel={edit.close}
            />
          )}
          <MessageParts row={row} shows={edit.isOpen ? "files" : "everything"} />
          {entry?.superseded === true && <p className="aside">{strings.talk.superseded}</p>}
          {entry?.partial !== undefined && (
            <p className="aside ended">
              <Icon name="stop" />
              {strings.talk.partial[entry.partial]}
            </p>
          )}
        </div>
        {row.kind === "message" && row.ends && row.live === null && (
          <TurnSources sources={row.sources} />
        )}
        {row.kind === "message" && row.changed !== null && row.live === null && (
          <ChangedFiles changes={row.changed} />
        )}
        {row.kind === "message" && row.ends && !isWaiting(row) && (
          <footer className="message-foot">
            {!edit.isOpen && (
              <MessageActions entry={row.entry} question={row.question} onEdit={edit.open} />
            )}
            <time
              dateTime={new Date(row.entry.at).toISOString()}
              title={formatMoment(row.entry.at)}
            >
              {formatClock(row.entry.at)}
            </time>
            {row.entry.model !== undefined && <ModelName name={row.entry.model} />}
            {row.version !== null && <MessageVersions {...row.version} />}
          </footer>
        )}
      </article>
    );
  },
  (previous, next) => sameRow(previous.row, next.row),
);

/** Leads to what the turn changed in files. */
function ChangedFiles({ changes }: { readonly changes: TurnChanges }) {
  const { showChanges } = useTalk();
  return (
    <button type="button" className="button plain" onClick={() => showChanges(changes)}>
      <Icon name="edit" />
      {strings.talk.changedFiles}
    </button>
  );
}

/** The edit of a person's message. What was typed is kept while the row is scrolled out of view. */
function useEdit(entry: MessageEntry | null) {
  const { editDrafts, editRequests, editAndRetry } = useTalk();
  const id = entry?.messageId;
  const isRequested = useStore(editRequests) === entry?.seq;
  const [isOpened, setOpen] = useState(() => id !== undefined && editDrafts.has(id));
  const original = entry === null ? "" : textOf(entry.parts);
  const change = (text: string) => void (id !== undefined && editDrafts.set(id, text));
  function close(): void {
    if (id !== undefined) editDrafts.delete(id);
    setOpen(false);
    if (isRequested) editRequests.request(null);
  }
  function open(): void {
    change(original);
    setOpen(true);
  }
  async function send(text: string): Promise<void> {
    if (entry === null) return;
    close();
    if (await editAndRetry(entry, text)) return;
    change(text);
    setOpen(true);
  }
  return {
    isOpen: isOpened || isRequested,
    text: (id === undefined ? undefined : editDrafts.get(id)) ?? original,
    hasFiles: entry?.parts.some(isFile) === true,
    change,
    close,
    open,
    send: (text: string) => void send(text),
  };
}

const isFile = (part: Part): boolean => part.type === "file" || part.type === "image";

/** The actions of a message come once its calls are answered: until then they would only be in the way. */
function isWaiting({ entry, live }: MessageRow): boolean {
  return entry.parts.some(
    (part) =>
      part.type === "tool_call" &&
      live?.approvals.some(({ callId }) => callId === part.callId) === true,
  );
}

interface MessagePartsProps {
  readonly row: AnyMessageRow;
  readonly shows: "everything" | "files";
}

function MessageParts({ row, shows }: MessagePartsProps) {
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
  const source = hostSourceOf(entry);
  const parts = entry.parts.map((part, index) =>
    shows === "files" && !isFile(part) ? null : source !== null && part.type === "text" ? (
      <HostMessage key={index} entry={entry} source={source} text={part.text} />
    ) : entry.role === "user" && part.type === "text" ? (
      <p key={index} className="as-written" dir="auto">
        {part.text}
      </p>
    ) : (
      <PartView key={index} part={part} result={results[index] ?? null} live={live} />
    ),
  );
  return (
    <>
      {parts}
      {shows === "everything" && <AddedForModel parts={entry.parts} />}
    </>
  );
}

/** What the model got with the message, folded up: nobody wrote it. */
function AddedForModel({ parts }: { parts: readonly Part[] }) {
  const added = parts
    .filter((part) => part.type === "attached")
    // The message shows its own time.
    .filter(({ source }) => source !== timeSource);
  if (added.length === 0) return null;
  const sources = added.map(({ source }) => strings.talk.addedSource(source)).join(", ");
  return (
    <details className="fold">
      <summary>
        <Icon name="memory" />
        <span className="added-sources">{strings.talk.attached(sources)}</span>
      </summary>
      {added.map(({ text }, index) => (
        <p key={index} className="as-written">
          {text}
        </p>
      ))}
    </details>
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
          hasKeys={live?.approvals.find(({ kind }) => kind === undefined)?.callId === part.callId}
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
    // Together below the message.
    case "attached":
      return null;
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
