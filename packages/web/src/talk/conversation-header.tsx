import type { SessionId } from "@holdfast/protocol";
import { useEffect, useState } from "react";
import { useApp } from "../app-context.ts";
import { sessionActions, titleOf } from "../sessions/session-actions.ts";
import { SessionMenu } from "../sessions/session-menu.tsx";
import { TitleField } from "../sessions/title-field.tsx";
import { Icon } from "../ui/icons.tsx";
import { type MenuEntry } from "../ui/menu.tsx";
import { words } from "../strings/strings.ts";
import { useTalk } from "./store/talk-actions.ts";
import { useCommands } from "./composer/commands.tsx";
import type { ConversationView } from "./store/conversation-store.ts";

interface TalkHeaderProps {
  readonly view: ConversationView;
  readonly panelOpen: boolean;
  readonly onPanel: () => void;
}

/** Whose conversation this is, and how true what is shown of it is. */
export function TalkHeader({ view, panelOpen, onPanel }: TalkHeaderProps) {
  const app = useApp();
  const talk = useTalk();
  const [renaming, setRenaming] = useState(false);
  const session = view.state?.session ?? null;
  const commands = useCommands(session?.id ?? null);
  const title = session === null ? "" : titleOf(session);
  useTitleOfTab(title);
  const { list } = app;
  useEffect(() => {
    if (session !== null) list.put(session);
  }, [list, session]);

  const history: MenuEntry[] = [
    { label: words.history.undo, icon: "undo", onChoose: talk.undo },
    { label: words.history.redo, icon: "redo", onChoose: talk.redo },
    { label: words.history.retry, icon: "refresh", onChoose: () => talk.askAgain() },
    { label: words.history.compact, icon: "gauge", onChoose: talk.compact },
    {
      label: words.command.title.processes,
      icon: "terminal",
      onChoose: () => void commands.run({ name: "processes", argument: "" }),
    },
    "line",
  ];
  return (
    <header className="bar talk-bar">
      {session !== null && renaming ? (
        <TitleField
          title={title}
          onSave={(next) => void sessionActions(app, session).change({ title: next })}
          onClose={() => setRenaming(false)}
        />
      ) : (
        <h1 className="talk-title" dir="auto">
          <button
            type="button"
            title={words.sessions.rename}
            disabled={session === null}
            onClick={() => setRenaming(true)}
          >
            {title}
          </button>
        </h1>
      )}
      {session?.origin !== undefined && (
        <CameFrom id={session.origin.sessionId} icon="branch" how={words.talk.branched} />
      )}
      {session?.parent !== undefined && (
        <CameFrom id={session.parent.sessionId} icon="link" how={words.talk.handedOn} />
      )}
      <span className="spread" />
      <Connection view={view} />
      <button
        type="button"
        className="icon-button"
        aria-label={words.context.open}
        title={words.context.open}
        aria-expanded={panelOpen}
        onClick={onPanel}
      >
        <Icon name="gauge" />
      </button>
      {session !== null && (
        <SessionMenu
          session={session}
          onRename={() => setRenaming(true)}
          className="icon-button"
          before={history}
        />
      )}
      {commands.answer}
    </header>
  );
}

interface CameFromProps {
  readonly id: SessionId;
  readonly icon: "branch" | "link";
  readonly how: string;
}

/** The way back to the conversation that this one was made from. */
function CameFrom({ id, icon, how }: CameFromProps) {
  const { router } = useApp();
  const label = `${how}. ${words.talk.openOrigin}`;
  return (
    <button
      type="button"
      className="icon-button small"
      aria-label={label}
      title={label}
      onClick={() => router.go({ kind: "session", id, at: null })}
    >
      <Icon name={icon} />
    </button>
  );
}

/** The line as it is. A broken one is no error: what is stored is stored, and the page catches up. */
function Connection({ view: { connection, state } }: { view: ConversationView }) {
  const hint = words.connection.hint[connection];
  const upTo = state === null ? "" : ` ${words.connection.upTo(state.seq)}.`;
  return (
    <output className={`connection ${connection}`} title={hint + upTo}>
      <span className="dot" />
      <span>{words.connection[connection]}</span>
    </output>
  );
}

function useTitleOfTab(title: string): void {
  useEffect(() => {
    document.title = title === "" ? words.product : `${title} · ${words.product}`;
    return () => {
      document.title = words.product;
    };
  }, [title]);
}
