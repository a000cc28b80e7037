import type { SessionView } from "@holdfast/protocol";
import { memo, useState } from "react";
import { useApp, useStore } from "../app-context.ts";
import { linkProps } from "../router/router.ts";
import { Icon } from "../ui/icons.tsx";
import { formatShortTime } from "../ui/format-time.ts";
import { strings } from "../strings/strings.ts";
import { sameSessionRow } from "./session-list-store.ts";
import { sessionActions, sessionTitle } from "./session-actions.ts";
import { SessionMenu } from "./session-menu.tsx";
import { TitleField } from "./title-field.tsx";

interface SessionRowProps {
  readonly session: SessionView;
  readonly isOpen: boolean;
  readonly isUnread: boolean;
  readonly now: number;
}

export const SessionRow = memo(
  function SessionRow({ session, isOpen, isUnread, now }: SessionRowProps) {
    const app = useApp();
    const selected = useStore(app.selection);
    const [renaming, setRenaming] = useState(false);
    const title = sessionTitle(session);
    const link = linkProps(app.router, { kind: "session", id: session.id, at: null });

    if (selected !== null)
      return (
        <label className="session session-link" title={title}>
          <input
            type="checkbox"
            aria-label={strings.sessions.selectNamed(title)}
            checked={selected.has(session.id)}
            onChange={() => app.selection.toggle(session.id)}
          />
          <span className="session-title" dir="auto">
            {title}
          </span>
          <span className="session-time">{formatShortTime(session.sortAt, now)}</span>
        </label>
      );
    if (renaming)
      return (
        <TitleField
          title={title}
          onSave={(next) => void sessionActions(app, session).change({ title: next })}
          onClose={() => setRenaming(false)}
        />
      );
    return (
      <div className={`session${isOpen ? " open" : ""}${isUnread ? " unread" : ""}`}>
        <a
          {...link}
          className="session-link"
          aria-current={isOpen ? "page" : undefined}
          title={title}
          onDoubleClick={() => setRenaming(true)}
        >
          <StateMark session={session} isUnread={isUnread} />
          <span className="session-title" dir="auto">
            {title}
          </span>
          <span className="session-time">{formatShortTime(session.sortAt, now)}</span>
        </a>
        <SessionMenu
          session={session}
          onRename={() => setRenaming(true)}
          className="icon-button small session-more"
        />
      </div>
    );
  },
  (a, b) =>
    sameSessionRow(a.session, b.session) &&
    a.isOpen === b.isOpen &&
    a.isUnread === b.isUnread &&
    formatShortTime(a.session.sortAt, a.now) === formatShortTime(b.session.sortAt, b.now),
);

/** The most urgent mark: a person is needed, a run is going, something is unread. */
function StateMark({ session, isUnread }: { session: SessionView; isUnread: boolean }) {
  const { liveState, lastState } = session;
  const marks = strings.sessions.marks;
  if (liveState === "waiting" || liveState === "paused")
    return <Dot className="notice" label={marks[liveState]} />;
  if (liveState !== null) return <Dot className="pulsing" label={marks.running} />;
  if (isUnread && (lastState === "failed" || lastState === "interrupted"))
    return <Dot className="warn" label={marks[lastState]} />;
  if (isUnread) return <Dot className="" label={strings.sessions.unread} />;
  return session.origin === undefined ? null : <Icon name="branch" />;
}

function Dot({ className, label }: { className: string; label: string }) {
  return (
    <span className={`dot ${className}`} title={label}>
      <span className="hidden-text">{label}</span>
    </span>
  );
}
