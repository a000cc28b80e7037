import type { ApiError, Result } from "@holdfast/client";
import type {
  ApprovalAnswer,
  InboxItem,
  MessageEntry,
  MessageId,
  NoticeId,
  RunId,
  Seq,
  SessionId,
} from "@holdfast/protocol";
import { createContext, use } from "react";
import { type AppDeps, problemText } from "../../app-context.ts";
import { hrefOf } from "../../router/routes.ts";
import { copyText } from "../../ui/copy-and-save.tsx";
import { strings } from "../../strings/strings.ts";
import { createEditRequests, type EditRequests } from "./edit-requests.ts";
import { createSeenApprovals, type SeenApprovals } from "./seen-approvals.ts";

/** What a person can do in a conversation. The host decides on each; the page shows the result. */
export interface TalkActions {
  readonly copyLink: (seq: Seq) => void;
  readonly editAndRetry: (entry: MessageEntry, text: string) => Promise<boolean>;
  /** What was typed into messages that are being edited, for rows that are scrolled out of view. */
  readonly editDrafts: Map<MessageId, string>;
  /** Asks a message again, the last one if it is not named, and of another model if one is. */
  readonly retry: (from?: Seq | null, model?: string) => void;
  readonly showVersion: (message: MessageId) => void;
  /** Whether this version was chosen by its buttons, which then have the focus again. Once. */
  readonly takeFocus: (message: MessageId) => boolean;
  readonly branchAt: (seq: Seq) => void;
  readonly truncateFrom: (seq: Seq) => void;
  readonly undo: () => void;
  /** Also puts the files back as they were before the turn. A notice in the conversation says which. */
  readonly undoWithFiles: () => void;
  readonly redo: () => void;
  readonly compact: () => void;
  readonly answer: (approvalId: AnsweredApprovalId, reply: ApprovalReply) => Promise<void>;
  readonly stop: (run: RunId) => void;
  readonly resume: (run: RunId) => void;
  readonly stopWaiting: (noticeId: NoticeId) => void;
  readonly changeQueued: (item: InboxItem, text: string) => Promise<boolean>;
  readonly removeQueued: (item: InboxItem) => void;
  readonly showRun: (run: RunId) => void;
  readonly showNewest: () => void;
  readonly seenApprovals: SeenApprovals;
  readonly editRequests: EditRequests;
}

type ViewActions = Pick<TalkActions, "showRun" | "showNewest">;

/** For a call, whether it may run, and a rule for further calls or the reason for a no; for a question, the answer. */
interface ApprovalReply {
  readonly decision: ApprovalAnswer;
  readonly rule?: string;
  readonly lastsSeconds?: number;
  readonly answer?: string;
}

type AnsweredApprovalId = Parameters<AppDeps["client"]["answerApproval"]>[0]["params"]["id"];

const context = createContext<TalkActions | null>(null);
export const TalkProvider = context.Provider;

export function useTalk(): TalkActions {
  const actions = use(context);
  if (actions === null) throw new Error("useTalk needs a TalkProvider above it.");
  return actions;
}

export function createTalkActions(
  { client, router, toasts }: Pick<AppDeps, "client" | "router" | "toasts">,
  id: SessionId,
  { showRun, showNewest }: ViewActions,
): TalkActions {
  const params = { id };
  let focusedVersion: MessageId | null = null;
  const showError = (error: ApiError): void => toasts.show(problemText(error));

  /** Shows an error, and resolves to whether the request succeeded. */
  async function report(request: Promise<Result<unknown>>): Promise<boolean> {
    const result = await request;
    if (!result.ok) showError(result.error);
    return result.ok;
  }

  /** Any action that starts a run scrolls to it, wherever the reader was. */
  async function reportAndShow(request: Promise<Result<unknown>>): Promise<boolean> {
    const isDone = await report(request);
    if (isDone) showNewest();
    return isDone;
  }

  async function redo(files: "keep" | "restore" = "keep"): Promise<void> {
    const isDone = await report(client.redo({ params, body: { interrupt: true, files } }));
    if (isDone) toasts.show(strings.history.redone);
  }

  async function undoWithFiles(): Promise<void> {
    const body = { interrupt: true, files: "restore" } as const;
    const again = { label: strings.history.redo, run: () => void redo("restore") };
    if (await report(client.undo({ params, body }))) toasts.show(strings.history.undone, again);
  }

  async function truncate(request: Promise<Result<unknown>>, message: string): Promise<void> {
    if (await report(request))
      toasts.show(message, { label: strings.history.redo, run: () => void redo() });
  }

  return {
    copyLink(seq) {
      const link = new URL(hrefOf({ kind: "session", id, at: seq }), location.href);
      void copyText(link.href).then(() => toasts.show(strings.common.copied));
    },
    editAndRetry(entry, text) {
      const attachments = entry.parts.filter(
        (part) => part.type === "file" || part.type === "image",
      );
      const body = { from: entry.seq, text, attachments, interrupt: true };
      return reportAndShow(client.retry({ params, body }));
    },
    editDrafts: new Map(),
    retry(from, model) {
      const body = {
        ...(from != null && { from }),
        ...(model !== undefined && { model }),
        interrupt: true,
      };
      void reportAndShow(client.retry({ params, body }));
    },
    showVersion(messageId) {
      focusedVersion = messageId;
      void report(client.switchAlternative({ params, body: { messageId, interrupt: true } }));
    },
    takeFocus(messageId) {
      const isChosen = focusedVersion === messageId;
      if (isChosen) focusedVersion = null;
      return isChosen;
    },
    branchAt(seq) {
      void client.branch({ params, body: { at: seq } }).then((result) => {
        if (!result.ok) return showError(result.error);
        router.go({ kind: "session", id: result.value.session.id, at: null });
        return toasts.show(strings.message.branched);
      });
    },
    truncateFrom: (seq) =>
      void truncate(
        client.truncate({ params, body: { from: seq, interrupt: true } }),
        strings.history.cut,
      ),
    undo: () =>
      void truncate(client.undo({ params, body: { interrupt: true } }), strings.history.undone),
    undoWithFiles: () => void undoWithFiles(),
    redo: () => void redo(),
    compact() {
      void client.compact({ params, body: {} }).then((result) => {
        if (!result.ok) return showError(result.error);
        const { outcome } = result.value;
        const key = outcome === "started" ? "compacting" : "deferred";
        return toasts.show(strings.history[key]);
      });
    },
    async answer(approvalId, reply) {
      const result = await client.answerApproval({
        params: { id: approvalId },
        body: { ...reply },
      });
      if (result.ok) return;
      const isLate = result.error.code === "approval_answered";
      toasts.show(isLate ? strings.approval.late : problemText(result.error));
    },
    stop: (run) => void report(client.cancelRun({ params: { id: run } })),
    resume: (run) => void reportAndShow(client.resumeRun({ params: { id: run } })),
    stopWaiting: (noticeId) => void report(client.stopWaiting({ params, body: { noticeId } })),
    changeQueued(item, text) {
      const { messageId, attachments } = item;
      return report(client.changeInput({ params: { id, messageId }, body: { text, attachments } }));
    },
    removeQueued: ({ messageId }) => void report(client.removeInput({ params: { id, messageId } })),
    showRun,
    showNewest,
    seenApprovals: createSeenApprovals(),
    editRequests: createEditRequests(),
  };
}
