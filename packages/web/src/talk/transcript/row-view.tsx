import { type NoticeEntry, noticeLink, waitingNoticeKinds } from "@holdfast/protocol";
import { memo } from "react";
import { Icon, type IconName } from "../../ui/icons.tsx";
import { Markdown } from "../../ui/markdown/markdown.tsx";
import { formatDay } from "../../ui/format-time.ts";
import { strings } from "../../strings/strings.ts";
import { Message } from "./message.tsx";
import { PendingRow } from "../composer/queue.tsx";
import { sameRow, type Row } from "./rows.ts";
import { useTalk } from "../store/talk-actions.ts";
import type { UnsentStore } from "../store/unsent-messages.ts";

interface RowProps {
  readonly row: Row;
  readonly unsent: UnsentStore;
}

export const RowView = memo(
  function RowView({ row, unsent }: RowProps) {
    switch (row.kind) {
      case "day":
        return <p className="day">{formatDay(row.at)}</p>;
      case "message":
      case "live":
        return <Message row={row} />;
      case "waiting":
        return <PendingRow pending={row.item} store={unsent} />;
      case "notice":
        return <NoticeRow entry={row.entry} />;
      case "compaction":
        return (
          <details className="note">
            <summary>
              <Icon name="archive" />
              {strings.talk.compacted(row.entry.covers.from, row.entry.covers.to)}
            </summary>
            <Markdown text={row.entry.summary} />
          </details>
        );
      case "epoch":
        return (
          <p className="note">
            <Icon name="archive" />
            {strings.talk.epoch}
          </p>
        );
    }
  },
  (previous, next) => sameRow(previous.row, next.row),
);

const noticeIcons: Readonly<Record<string, IconName>> = {
  recovering: "refresh",
  host_away: "refresh",
  memory_waiting: "refresh",
  recovered: "check",
  nothing_recovered: "warning",
};

/** A notice of the host about a run: why it broke off, and what was kept of it. */
function NoticeRow({ entry }: { entry: NoticeEntry }) {
  const talk = useTalk();
  const link = noticeLink(entry);
  return (
    <p className={`note notice ${entry.kind}`} role="note">
      <Icon name={noticeIcons[entry.kind] ?? "warning"} />
      <span>{entry.text}</span>
      {link !== null && (
        <a className="button plain" href={link} target="_blank" rel="noreferrer">
          {strings.mcp.signIn}
        </a>
      )}
      {waitingNoticeKinds.has(entry.kind) && (
        <button
          type="button"
          className="button plain"
          onClick={() => talk.stopWaiting(entry.noticeId)}
        >
          {strings.waiting.stop}
        </button>
      )}
    </p>
  );
}
