import { type ApiError, countOtherFiles, type Result } from "@holdfast/client";
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
import type { TurnChanges } from "../transcript/rows.ts";
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
  /** `left`: where it was taken out of view, if it was. Offers its files if others are there. */
  readonly showVersion: (message: MessageId, left?: Seq) => void;
  /** Whether this version was chosen by its buttons, which then have the focus again. Once. */
  readonly takeFocus: (message: MessageId) => boolean;
  readonly branchAt: (seq: Seq) => void;
  readonly truncateFrom: (seq: Seq) => void;
  readonly undo: () => void;
  /** Asks what of the last turn to undo, with what that would do to its files. */
  readonly askUndo: () => void;
  /** A notice in the conversation says which files were put back. */
  readonly undoFiles: (conversation: "undo" | "keep") => void;
  readonly redo: () => void;
  /** Brings back files that were undone, and their turn if it was undone with them. */
  readonly redoWithFiles: () => void;
  readonly showChanges: (changes: TurnChanges) => void;
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

type ViewActions = Pick<TalkActions, "showRun" | "showNewest" | "showChanges" | "askUndo">;

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
  { showRun, showNewest, showChanges, askUndo }: ViewActions,
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

  async function redo(): Promise<void> {
    const isDone = await report(client.redo({ params, body: { interrupt: true } }));
    if (isDone) toasts.show(strings.history.redone);
  }

  async function redoWithFiles(): Promise<void> {
    const body = { interrupt: true };
    const both = await client.redo({ params, body: { ...body, files: "restore" } });
    // The files alone may have been undone.
    const isKept = !both.ok && both.error.code === "nothing_to_redo";
    const result = isKept ? await client.redoFiles({ params, body }) : both;
    if (result.ok) toasts.show(strings.history.redone);
    else showError(result.error);
  }

  async function undoFiles(conversation: "undo" | "keep"): Promise<void> {
    const body = { interrupt: true };
    const request =
      conversation === "undo"
        ? client.undo({ params, body: { ...body, files: "restore" } })
        : client.undoFiles({ params, body });
    const again = { label: strings.history.redo, run: () => void redoWithFiles() };
    if (await report(request)) toasts.show(strings.history.undone, again);
  }

  async function showVersion(messageId: MessageId, left: Seq | undefined): Promise<void> {
    const switchTo = (files: "keep" | "restore") =>
      report(client.switchAlternative({ params, body: { messageId, interrupt: true, files } }));
    if (!(await switchTo("keep"))) return;
    const count = await countOtherFiles(client, id, left);
    if (count === 0) return;
    const bring = { label: strings.files.bringOwn, run: () => void switchTo("restore") };
    toasts.show(strings.files.leftByOther(count), bring);
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
    showVersion(messageId, left) {
      focusedVersion = messageId;
      void showVersion(messageId, left);
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
    askUndo,
    undoFiles: (conversation) => void undoFiles(conversation),
    redo: () => void redo(),
    redoWithFiles: () => void redoWithFiles(),
    showChanges,
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
