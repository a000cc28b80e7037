import type { SessionView } from "@holdfast/protocol";
import { useEffect, useRef } from "react";
import { type AppDeps, useApp } from "../app-context.ts";
import { sessionActions } from "../sessions/session-actions.ts";
import type { PaletteCommand } from "../shell/commands.ts";
import { strings } from "../strings/strings.ts";
import type { TalkActions } from "./store/talk-actions.ts";

interface OpenConversation {
  readonly session: SessionView | null;
  readonly actions: TalkActions;
  readonly onFind: () => void;
  readonly onShowContext: () => void;
  readonly onStop: (() => void) | null;
}

/** Offers what can be done with this conversation in the command palette, while it is open. */
export function useOpenCommands(conversation: OpenConversation): void {
  const app = useApp();
  const latest = useRef(conversation);
  useEffect(() => {
    latest.current = conversation;
  });
  const { session, onStop } = conversation;
  // Rebuilt only when a label changes: the conversation itself changes with every streamed word.
  const state = session && `${session.id} ${session.pinned} ${session.archived}`;
  const canStop = onStop !== null;
  useEffect(() => {
    if (state === null) return;
    app.openCommands.offer(commandsFor(app, () => latest.current, canStop));
    return () => app.openCommands.offer([]);
  }, [app, state, canStop]);
}

function commandsFor(
  app: AppDeps,
  read: () => OpenConversation,
  canStop: boolean,
): readonly PaletteCommand[] {
  const { session } = read();
  if (session === null) return [];
  const withSession = (run: (actions: ReturnType<typeof sessionActions>) => unknown) => () => {
    const current = read().session;
    if (current !== null) void run(sessionActions(app, current));
  };
  const t = strings.sessions;
  const command = (
    key: string,
    label: string,
    icon: PaletteCommand["icon"],
    run: () => void,
  ): PaletteCommand => ({ key: `open ${key}`, label, icon, run });
  return [
    ...(canStop ? [command("stop", strings.run.stopNow, "stop", () => read().onStop?.())] : []),
    command("find", strings.find.label, "search", () => read().onFind()),
    command("context", strings.context.open, "gauge", () => read().onShowContext()),
    command("retry", strings.history.retry, "refresh", () => read().actions.retry()),
    command("undo", strings.history.undo, "undo", () => read().actions.undo()),
    command("undo-files", strings.history.undoWithFiles, "undo", () => read().actions.askUndo()),
    command("redo-files", strings.history.redoWithFiles, "redo", () =>
      read().actions.redoWithFiles(),
    ),
    command("redo", strings.history.redo, "redo", () => read().actions.redo()),
    command("compact", strings.history.compact, "gauge", () => read().actions.compact()),
    command(
      "pin",
      session.pinned ? t.unpin : t.pin,
      session.pinned ? "unpin" : "pin",
      withSession((actions) => actions.change({ pinned: !session.pinned })),
    ),
    command(
      "duplicate",
      t.duplicate,
      "copy",
      withSession((actions) => actions.duplicate()),
    ),
    command(
      "archive",
      session.archived ? t.unarchive : t.archive,
      "archive",
      withSession((actions) =>
        session.archived ? actions.change({ archived: false }) : actions.archive(),
      ),
    ),
    ...(["md", "html", "json"] as const).map((format) =>
      command(
        format,
        t.exportAs[format],
        "download",
        withSession((actions) => actions.export(format)),
      ),
    ),
    command(
      "trash",
      t.trash,
      "trash",
      withSession((actions) => actions.trash()),
    ),
  ];
}
