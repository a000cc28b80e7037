import type {
  ApprovalDecision,
  ApprovalId,
  CallId,
  EventData,
  Json,
  MessageId,
  NoticeId,
  Part,
  RunState,
  Seq,
  ToolDetails,
  ToolOutcome,
} from "@holdfast/protocol";

interface Position {
  /** A reader that has this item resumes after this seq. */
  readonly seq: Seq;
  /** The store's clock, in milliseconds. */
  readonly at: number;
}

type Text = { readonly messageId: MessageId; readonly part: number; readonly text: string };

/** What a run puts out, for the clients of any protocol. */
export type RunOutputItem = Position &
  (
    | { readonly kind: "state"; readonly state: RunState; readonly cause: string | undefined }
    /** What the model is asked: the message of the run, or one that steers it. */
    | { readonly kind: "input"; readonly messageId: MessageId; readonly parts: readonly Part[] }
    | { readonly kind: "step"; readonly step: number; readonly model: string }
    /**
     * These messages ended early, because their runner died or their model failed, and the model is asked again. It has
     * their text before it, and they stay in the log.
     */
    | { readonly kind: "asked_again"; readonly messageIds: readonly MessageId[] }
    | ({ readonly kind: "text" } & Text)
    | ({ readonly kind: "reasoning" } & Text)
    /** The whole message, after all of its text. */
    | {
        readonly kind: "message";
        readonly messageId: MessageId;
        readonly parts: readonly Part[];
        readonly model: string | undefined;
        readonly partial: EventData<"message.assistant">["partial"];
      }
    /** The model asked for it. It may not run: an approval may be asked first, or it is refused. */
    | ({ readonly kind: "call" } & Call)
    /** A call may start again after a crash, if its tool allows that. */
    | ({ readonly kind: "tool_started" } & Call)
    | { readonly kind: "tool_output"; readonly callId: CallId; readonly text: string }
    | {
        readonly kind: "tool_ended";
        readonly callId: CallId;
        readonly name: string;
        readonly outcome: ToolOutcome;
        readonly output: string;
        readonly details: ToolDetails | undefined;
      }
    | {
        readonly kind: "approval_asked";
        /** A question asks for words, and not for permission. */
        readonly isQuestion: boolean;
        readonly approval: EventData<"approval.asked">;
      }
    | {
        readonly kind: "approval_answered";
        readonly approvalId: ApprovalId;
        readonly decision: ApprovalDecision;
        readonly answer: string | undefined;
      }
    /** The same id again: the notice has been reworded. */
    | {
        readonly kind: "notice";
        readonly noticeId: NoticeId;
        readonly notice: string;
        readonly text: string;
      }
    | { readonly kind: "usage"; readonly usage: EventData<"usage.recorded"> }
    /** The last item. */
    | { readonly kind: "ended"; readonly state: RunState; readonly cause: string | undefined }
  );

interface Call {
  readonly callId: CallId;
  readonly name: string;
  readonly input: Json;
}

type Without<T> = T extends unknown ? Omit<T, keyof Position> : never;
/** An item without its position. */
export type RunOutputContent = Without<RunOutputItem>;
