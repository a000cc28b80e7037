import { liveRun, type SessionState } from "@holdfast/client";
import {
  type LiveView,
  type MessageId,
  modeOf,
  type RunId,
  type Seq,
  type SessionId,
} from "@holdfast/protocol";
import { lazy, useEffect, useMemo, useState } from "react";
import { problemText, useApp, useStore } from "../app-context.ts";
import { AgentQuestion } from "./trust/agent-trust.tsx";
import { SkillQuestion } from "./trust/skill-trust.tsx";
import { WorkspaceQuestion } from "./trust/workspace-trust.tsx";
import { SessionModel } from "../models/session-model.tsx";
import { sessionActions } from "../sessions/session-actions.ts";
import { Icon } from "../ui/icons.tsx";
import { PartBoundary } from "../ui/part-boundary.tsx";
import { strings } from "../strings/strings.ts";
import { createTalkActions, TalkProvider } from "./store/talk-actions.ts";
import { useSlashCommands } from "./composer/slash-commands.tsx";
import { Composer } from "./composer/composer.tsx";
import { SessionModeMenu } from "./composer/session-mode-menu.tsx";
import { createConversationStore } from "./store/conversation-store.ts";
import { PendingRow, Queue } from "./composer/queue.tsx";
import { FindBar } from "./find/find-bar.tsx";
import { useFind } from "./find/use-find.ts";
import { HiddenVersion } from "./hidden-version.tsx";
import { FirstMessages } from "./first-messages.tsx";
import { useOpenCommands } from "./open-commands.ts";
import { hostSourceOf } from "./transcript/host-message.tsx";
import { pendingKey, type Pending, type TurnChanges } from "./transcript/rows.ts";
import { scrollPositionOf } from "./store/scroll-positions.ts";
import { useConversationKeys } from "./use-conversation-keys.ts";
import { RunStatus } from "./run-status.tsx";
import { ConversationHeader } from "./conversation-header.tsx";
import { createEndFollower } from "./transcript/end-follower.ts";
import { Transcript } from "./transcript/transcript.tsx";

const ContextPanel = lazy(async () => ({
  default: (await import("../context/context-panel.tsx")).ContextPanel,
}));

const FilesPanel = lazy(async () => ({
  default: (await import("../files/files-panel.tsx")).FilesPanel,
}));

const ChangesPanel = lazy(async () => ({
  default: (await import("../changes/changes-panel.tsx")).ChangesPanel,
}));

const UndoDialog = lazy(async () => ({
  default: (await import("../changes/undo-dialog.tsx")).UndoDialog,
}));

const RecorderPanel = lazy(async () => ({
  default: (await import("../recorder/recorder-panel.tsx")).RecorderPanel,
}));

type SidePanel =
  | { readonly kind: "context" }
  | { readonly kind: "files" }
  | { readonly kind: "changes"; readonly range: TurnChanges }
  | { readonly kind: "run"; readonly runId: RunId; readonly after: Seq };

interface ConversationProps {
  readonly id: SessionId;
  readonly at: Seq | null;
  /** What was searched for. */
  readonly find: string | undefined;
  /** The version that `at` is part of, if it may be out of view. */
  readonly version: MessageId | undefined;
}

/** One conversation. To show another, mount it again with another key. */
export function Conversation({ id, at, find: linkedText = "", version }: ConversationProps) {
  const app = useApp();
  const [store] = useState(() => createConversationStore(app.client, id));
  const view = useStore(store);
  const [sidePanel, setSidePanel] = useState<SidePanel | null>(null);
  const [end] = useState(createEndFollower);
  const [isUndoing, setIsUndoing] = useState(false);
  const actions = useMemo(
    () =>
      createTalkActions(app, id, {
        showRun: (runId) => setSidePanel({ kind: "run", runId, after: store.beforeRun(runId) }),
        showNewest: end.showNewest,
        showChanges: (range) => setSidePanel({ kind: "changes", range }),
        askUndo: () => setIsUndoing(true),
      }),
    [app, id, store, end],
  );
  const commands = useSlashCommands(id);
  useEffect(() => store.start(), [store]);
  const pending = usePending(id, view.state);
  useResendOnReconnect(view.connection === "live", pending);
  const { host } = app;
  const isDisconnected = view.connection === "reconnecting" || view.connection === "offline";
  useEffect(() => {
    // Find out whether the network or the host failed. The host is then checked more often until it answers.
    if (isDisconnected) void host.check();
  }, [host, isDisconnected]);
  const { state } = view;
  useReadMark(state?.session.sortAt ?? null, id);
  const [isFinding, setIsFinding] = useState(false);
  const find = useFind(id, state, isFinding);
  // Back leads to where the conversation was left, until another link is followed.
  const [returned] = useState(() => ({
    at,
    to: app.router.isReturn() ? scrollPositionOf(id) : null,
  }));
  const target = version === undefined ? at : null;
  const linkedAt = returned.at === at && returned.to !== null ? returned.to : target;
  const [edited, setEdited] = useState<{ readonly at: Seq | null; readonly seq: Seq } | null>(null);
  const editedAt = edited !== null && edited.at === at ? edited.seq : null;
  const run = state === null ? null : liveRun(state);
  const onStop = run === null || run.state === "paused" ? null : () => actions.stop(run.id);
  const openPanel = (): void => setSidePanel({ kind: "context" });
  useConversationKeys({
    approvals: state?.live?.approvals ?? noApprovals,
    actions,
    onFind: () => setIsFinding(true),
    onClosePanel: sidePanel === null ? null : () => setSidePanel(null),
    onStop,
  });
  useOpenCommands({
    session: state?.session ?? null,
    actions,
    onFind: () => setIsFinding(true),
    onShowContext: openPanel,
    onStop,
  });
  function editLast(): void {
    const last = state?.entries.findLast(
      (entry) => entry.type === "message" && entry.role === "user" && hostSourceOf(entry) === null,
    );
    if (last === undefined) return;
    store.returnToTail();
    setEdited({ at, seq: last.seq });
    actions.editRequests.request(last.seq);
  }

  if (view.ended !== null)
    return (
      <div className="empty-state">
        <h1>{strings.talk.gone}</h1>
        <p className="quiet">{problemText(view.ended)}</p>
        <p className="quiet">{strings.talk.goneLead}</p>
      </div>
    );

  const isTrashed = state !== null && state.session.trashedAt !== null;
  return (
    <TalkProvider value={actions}>
      <div className={sidePanel !== null ? "with-panel" : "without-panel"}>
        <section className="conversation" aria-label={state?.session.title ?? strings.talk.label}>
          <ConversationHeader
            view={view}
            openPanel={sidePanel?.kind ?? null}
            onTogglePanel={(kind) => setSidePanel(sidePanel?.kind === kind ? null : { kind })}
          />
          {isFinding && (
            <FindBar
              find={find}
              onClose={() => {
                setIsFinding(false);
                find.setText("");
              }}
            />
          )}
          {state === null ? (
            <UnreadTranscript pending={pending} />
          ) : (
            <Transcript
              end={end}
              view={view}
              store={store}
              pending={run === null ? pending : noPending}
              unsent={app.unsent}
              at={isFinding ? find.at : (editedAt ?? linkedAt)}
              isMarked={isFinding || (editedAt === null && linkedAt === at)}
              marked={isFinding ? [find.text.trim()] : linkedText.split(/\s+/)}
            />
          )}
          <div className="dock">
            {view.status !== null && (
              <output className="strip attention">
                <Icon name="warning" />
                {view.status.text ?? strings.connection.storing}
              </output>
            )}
            {state !== null && version !== undefined && (
              <HiddenVersion key={version} state={state} version={version} />
            )}
            {state !== null && <WorkspaceQuestion id={id} />}
            {state !== null && <SkillQuestion id={id} />}
            {state !== null && <AgentQuestion id={id} />}
            {state !== null && (
              <RunStatus state={state} isConnected={!isDisconnected} retryAt={view.retryAt} />
            )}
            {run !== null && <Queue pending={pending} store={app.unsent} />}
            {isTrashed ? (
              <TrashedNotice id={id} />
            ) : (
              <Composer
                draftName={id}
                session={id}
                model={state?.session.model ?? null}
                isRunning={run !== null}
                onSend={(content) => {
                  app.unsent.send(id, content);
                  actions.showNewest();
                }}
                onCommand={commands.run}
                onStop={onStop}
                onEditLast={editLast}
              >
                {state !== null && (
                  <>
                    <SessionModeMenu
                      mode={modeOf(state.session)}
                      onChoose={(mode) => void sessionActions(app, state.session).change({ mode })}
                    />
                    <SessionModel
                      session={state.session}
                      onChoose={(model) =>
                        void sessionActions(app, state.session).change({ model })
                      }
                      onShowContext={() => setSidePanel({ kind: "context" })}
                    />
                  </>
                )}
              </Composer>
            )}
          </div>
          {commands.answer}
          {isUndoing && (
            <PartBoundary>
              <UndoDialog
                id={id}
                onUndo={(choice) =>
                  choice === "conversation"
                    ? actions.undo()
                    : actions.undoFiles(choice === "both" ? "undo" : "keep")
                }
                onClose={() => setIsUndoing(false)}
              />
            </PartBoundary>
          )}
        </section>
        {state !== null && (
          <PartBoundary key={sidePanel?.kind}>
            {sidePanel?.kind === "context" && (
              <ContextPanel
                id={id}
                version={state.session.version}
                onClose={() => setSidePanel(null)}
              />
            )}
            {sidePanel?.kind === "files" && (
              <FilesPanel session={state.session} onClose={() => setSidePanel(null)} />
            )}
            {sidePanel?.kind === "changes" && (
              <ChangesPanel
                key={sidePanel.range.from}
                id={id}
                range={sidePanel.range}
                onSent={actions.showNewest}
                onClose={() => setSidePanel(null)}
              />
            )}
            {sidePanel?.kind === "run" && (
              <RecorderPanel
                key={sidePanel.runId}
                id={id}
                runId={sidePanel.runId}
                after={sidePanel.after}
                onClose={() => setSidePanel(null)}
              />
            )}
          </PartBoundary>
        )}
      </div>
    </TalkProvider>
  );
}

const noPending: readonly Pending[] = [];
const noApprovals: LiveView["approvals"] = [];

/** Before the conversation is read: what was just sent, where it will stand, so that nothing jumps. */
function UnreadTranscript({ pending }: { pending: readonly Pending[] }) {
  const { unsent } = useApp();
  if (pending.length === 0)
    return <p className="empty-state fade-in-late quiet">{strings.talk.reading}</p>;
  return (
    <FirstMessages>
      {pending.map((item) => (
        <PendingRow key={pendingKey(item)} pending={item} store={unsent} />
      ))}
    </FirstMessages>
  );
}

/** Accepted messages that wait in the inbox, then unsent ones, each message once. */
function usePending(
  id: SessionId,
  state: Pick<SessionState, "inbox" | "entries" | "seq"> | null,
): readonly Pending[] {
  const { unsent } = useApp();
  const all = useStore(unsent);
  const inbox = state?.inbox;
  const seq = state?.seq ?? 0;
  // The stream can be ahead of the answer to the request that sent a message.
  const isInConversation = (clientId: string): boolean =>
    state?.entries.some((entry) => entry.type === "message" && entry.clientId === clientId) ===
    true;
  const ownUnsent = all.filter(
    (message) =>
      message.sessionId === id &&
      (message.seq === null || message.seq > seq) &&
      !isInConversation(message.clientId),
  );
  const fingerprint = ownUnsent.map((message) => message.clientId + message.state).join();
  return useMemo(
    () => [
      ...(inbox ?? []).map((item): Pending => ({ kind: "accepted", item })),
      ...ownUnsent
        .filter(({ clientId }) => inbox?.some((item) => item.clientId === clientId) !== true)
        .map((message): Pending => ({ kind: "unsent", message })),
    ],
    // The messages are new objects on each render; their ids and states tell whether they changed.
    // oxlint-disable-next-line react-hooks/exhaustive-deps
    [inbox, fingerprint],
  );
}

/** Sends messages that failed for lack of a connection again when it is back. */
function useResendOnReconnect(isLive: boolean, pending: readonly Pending[]): void {
  const { unsent } = useApp();
  useEffect(() => {
    if (!isLive) return;
    for (const item of pending)
      if (item.kind === "unsent" && item.message.trouble === "network")
        unsent.retry(item.message.clientId);
  }, [isLive, pending, unsent]);
}

function useReadMark(sortAt: number | null, id: SessionId): void {
  const { readMarks } = useApp();
  useEffect(() => {
    if (sortAt === null) return;
    const markIfVisible = (): void => {
      if (document.visibilityState === "visible") readMarks.markRead(id, sortAt);
    };
    markIfVisible();
    document.addEventListener("visibilitychange", markIfVisible);
    return () => document.removeEventListener("visibilitychange", markIfVisible);
  }, [readMarks, sortAt, id]);
}

function TrashedNotice({ id }: { id: SessionId }) {
  const { client, toasts } = useApp();
  return (
    <div className="strip card">
      <Icon name="trash" />
      <p>{strings.talk.trashed}</p>
      <button
        type="button"
        className="button primary"
        onClick={() =>
          void client.restoreSession({ params: { id } }).then((result) => {
            if (!result.ok) toasts.show(problemText(result.error));
            return undefined;
          })
        }
      >
        {strings.sessions.restore}
      </button>
    </div>
  );
}
