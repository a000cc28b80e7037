import type { SessionId } from "@holdfast/protocol";
import { useEffect, useState } from "react";
import { useApp } from "../app-context.ts";
import { setPageTitle } from "../attention/page-title.ts";
import { sessionActions, sessionTitle } from "../sessions/session-actions.ts";
import { SessionMenu } from "../sessions/session-menu.tsx";
import { TitleField } from "../sessions/title-field.tsx";
import { Icon } from "../ui/icons.tsx";
import { type MenuEntry } from "../ui/menu.tsx";
import { strings } from "../strings/strings.ts";
import { useTalk } from "./store/talk-actions.ts";
import { useSlashCommands } from "./composer/slash-commands.tsx";
import type { ConversationView } from "./store/conversation-store.ts";

interface ConversationHeaderProps {
  readonly view: ConversationView;
  readonly openPanel: "context" | "files" | "run" | "changes" | null;
  readonly onTogglePanel: (kind: "context" | "files") => void;
}

/** The title, the menu, and whether the page is connected. */
export function ConversationHeader({ view, openPanel, onTogglePanel }: ConversationHeaderProps) {
  const app = useApp();
  const talk = useTalk();
  const [renaming, setRenaming] = useState(false);
  const session = view.state?.session ?? null;
  const commands = useSlashCommands(session?.id ?? null);
  const title = session === null ? "" : sessionTitle(session);
  useDocumentTitle(title);
  const { list } = app;
  useEffect(() => {
    if (session !== null) list.put(session);
  }, [list, session]);

  const history: MenuEntry[] = [
    { label: strings.history.undo, icon: "undo", onChoose: talk.undo },
    { label: strings.history.undoWithFiles, icon: "undo", onChoose: talk.askUndo },
    { label: strings.history.redo, icon: "redo", onChoose: talk.redo },
    { label: strings.history.redoWithFiles, icon: "redo", onChoose: talk.redoWithFiles },
    { label: strings.history.retry, icon: "refresh", onChoose: () => talk.retry() },
    { label: strings.history.compact, icon: "gauge", onChoose: talk.compact },
    {
      label: strings.personas.choose,
      icon: "thought",
      onChoose: () => void commands.run({ name: "persona", argument: "" }),
    },
    {
      label: strings.projects.choose,
      icon: "window",
      onChoose: () => void commands.run({ name: "project", argument: "" }),
    },
    {
      label: strings.command.title.processes,
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
            title={strings.sessions.rename}
            disabled={session === null}
            onClick={() => setRenaming(true)}
          >
            {title}
          </button>
        </h1>
      )}
      {session?.origin !== undefined && (
        <OriginLink id={session.origin.sessionId} icon="branch" relation={strings.talk.branched} />
      )}
      {session?.parent !== undefined && (
        <OriginLink id={session.parent.sessionId} icon="link" relation={strings.talk.handedOn} />
      )}
      <span className="spacer" />
      <ConnectionStatus view={view} />
      <button
        type="button"
        className="icon-button"
        aria-label={strings.files.open}
        title={strings.files.open}
        aria-expanded={openPanel === "files"}
        onClick={() => onTogglePanel("files")}
      >
        <Icon name="folder" />
      </button>
      <button
        type="button"
        className="icon-button"
        aria-label={strings.context.open}
        title={strings.context.open}
        aria-expanded={openPanel === "context"}
        onClick={() => onTogglePanel("context")}
      >
        <Icon name="gauge" />
      </button>
      {session !== null && (
        <SessionMenu
          session={session}
          onRename={() => setRenaming(true)}
          className="icon-button"
          leadingItems={history}
        />
      )}
      {commands.answer}
    </header>
  );
}

interface OriginLinkProps {
  readonly id: SessionId;
  readonly icon: "branch" | "link";
  readonly relation: string;
}

/** Links to the conversation that this one was made from. */
function OriginLink({ id, icon, relation }: OriginLinkProps) {
  const { router } = useApp();
  const label = `${relation}. ${strings.talk.openOrigin}`;
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

/** A lost connection is no error: everything is stored, and the page catches up. */
function ConnectionStatus({ view: { connection, state } }: { view: ConversationView }) {
  const hint = strings.connection.hint[connection];
  const upTo = state === null ? "" : ` ${strings.connection.upTo(state.seq)}.`;
  return (
    <output className={`connection ${connection}`} title={hint + upTo}>
      <span className="dot" />
      <span>{strings.connection[connection]}</span>
    </output>
  );
}

function useDocumentTitle(title: string): void {
  useEffect(() => {
    setPageTitle(title);
    return () => setPageTitle("");
  }, [title]);
}
