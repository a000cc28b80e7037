import type { ApiError, Result } from "@holdfast/client";
import type {
  ApprovalAnswer,
  InboxItem,
  MessageEntry,
  RunId,
  Seq,
  SessionId,
} from "@holdfast/protocol";
import { createContext, use } from "react";
import { type AppDeps, problemText } from "../../app-context.ts";
import { hrefOf } from "../../router/routes.ts";
import { copyText } from "../../ui/copy-and-save.tsx";
import { strings } from "../../strings/strings.ts";

/** What a person can do to a conversation. Each is an intention that the host decides; the page shows what became of it. */
export interface TalkActions {
  readonly copyLink: (seq: Seq) => void;
  readonly editAndRetry: (entry: MessageEntry, text: string) => Promise<boolean>;
  readonly retry: (from?: Seq) => void;
  readonly branchAt: (seq: Seq) => void;
  readonly truncateFrom: (seq: Seq) => void;
  readonly undo: () => void;
  readonly redo: () => void;
  readonly compact: () => void;
  readonly answer: (approvalId: AnsweredApprovalId, word: ApprovalReply) => Promise<void>;
  readonly stop: (run: RunId) => void;
  readonly resume: (run: RunId) => void;
  readonly changeQueued: (item: InboxItem, text: string) => Promise<boolean>;
  readonly removeQueued: (item: InboxItem) => void;
  readonly showRun: (run: RunId) => void;
}

/** To a call: whether it may run, and what else is to run like it. To a question: the answer. */
interface ApprovalReply {
  readonly decision: ApprovalAnswer;
  readonly rule?: string;
  readonly answer?: string;
}

type AnsweredApprovalId = Parameters<AppDeps["client"]["answerApproval"]>[0]["params"]["id"];

const context = createContext<TalkActions | null>(null);
export const TalkProvider = context.Provider;

export function useTalk(): TalkActions {
  const actions = use(context);
  if (actions === null) throw new Error("A message is drawn outside of its conversation.");
  return actions;
}

export function createTalkActions(
  { client, router, toasts }: AppDeps,
  id: SessionId,
  showRun: (run: RunId) => void,
): TalkActions {
  const params = { id };
  const tell = (error: ApiError): void => toasts.show(problemText(error));

  /** Whether it was done; what was refused is told. */
  async function told(asked: Promise<Result<unknown>>): Promise<boolean> {
    const result = await asked;
    if (!result.ok) tell(result.error);
    return result.ok;
  }

  async function redo(): Promise<void> {
    const isDone = await told(client.redo({ params, body: { interrupt: true } }));
    if (isDone) toasts.show(strings.history.redone);
  }

  async function cut(asked: Promise<Result<unknown>>, sentence: string): Promise<void> {
    if (await told(asked))
      toasts.show(sentence, { label: strings.history.redo, run: () => void redo() });
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
      return told(client.retry({ params, body }));
    },
    retry(from) {
      void told(client.retry({ params, body: { ...(from && { from }), interrupt: true } }));
    },
    branchAt(seq) {
      void client.branch({ params, body: { at: seq } }).then((result) => {
        if (!result.ok) return tell(result.error);
        router.go({ kind: "session", id: result.value.session.id, at: null });
        return toasts.show(strings.message.branched);
      });
    },
    truncateFrom: (seq) =>
      void cut(
        client.truncate({ params, body: { from: seq, interrupt: true } }),
        strings.history.cut,
      ),
    undo: () =>
      void cut(client.undo({ params, body: { interrupt: true } }), strings.history.undone),
    redo: () => void redo(),
    compact() {
      void client.compact({ params, body: {} }).then((result) => {
        if (!result.ok) return tell(result.error);
        const { outcome } = result.value;
        const sentence = outcome === "started" ? "compacting" : "deferred";
        return toasts.show(strings.history[sentence]);
      });
    },
    async answer(approvalId, word) {
      const asked = { params: { id: approvalId }, body: { ...word } };
      const result = await client.answerApproval(asked);
      if (result.ok) return;
      const isLate = result.error.code === "approval_answered";
      toasts.show(isLate ? strings.approval.late : problemText(result.error));
    },
    stop: (run) => void told(client.cancelRun({ params: { id: run } })),
    resume: (run) => void told(client.resumeRun({ params: { id: run } })),
    changeQueued(item, text) {
      const { messageId, attachments } = item;
      return told(client.changeInput({ params: { id, messageId }, body: { text, attachments } }));
    },
    removeQueued: ({ messageId }) => void told(client.removeInput({ params: { id, messageId } })),
    showRun,
  };
}
