import type {
  ApprovalView,
  GatewayView,
  RuleView,
  ScheduleView,
  SessionId,
  SessionRead,
  SignInView,
} from "@holdfast/protocol";

export const sessionNames = [
  "plain",
  "undone",
  "branch",
  "compacted",
  "attached",
  "archived",
  "trashed",
  "memory",
  "allowed",
  "approval",
  "question",
  "tool",
  "parent",
  "child",
  "live",
  "chatAnswer",
  "chatQuestion",
  "chatUnknown",
  "webhookOwed",
  "webhookHeard",
  "scheduled",
] as const;
export type SessionName = (typeof sessionNames)[number];

/** What the API showed of a home just before its host was killed, and the secrets that the fixture was made with. */
export interface HomeSnapshot {
  readonly killedAt: number;
  readonly sessions: Readonly<Record<SessionName, SessionRead>>;
  readonly lists: Readonly<Record<"active" | "archived" | "trashed", readonly SessionId[]>>;
  readonly approvals: readonly ApprovalView[];
  readonly rules: readonly RuleView[];
  readonly schedules: readonly ScheduleView[];
  readonly gateway: GatewayView;
  /** Completed turns that no memory provider had committed. */
  readonly memoryBacklog: number;
  readonly access: {
    readonly token: string;
    readonly password: string;
    /** The value of a browser's cookie. */
    readonly cookie: string;
    readonly signIn: SignInView;
  };
  /** The idempotency key that the branch was made under. */
  readonly branchKey: string;
  /** The attached picture, in base64. */
  readonly picture: string;
  readonly webhooks: {
    /** Secret of the webhook `home`, which was connected on the page. */
    readonly homeSecret: string;
    /** Secret of the webhook `ci`, which is in the configuration. */
    readonly ciSecret: string;
    /** The request that the receiver of `ci` took and never answered. */
    readonly unanswered: { readonly id: string; readonly body: string };
  };
  readonly telegram: {
    /** Updates before this one were confirmed. */
    readonly nextUpdate: number;
    /** The id of the message in chat 7 whose answer was not sent. */
    readonly messageId: number;
  };
}

/** The same for a home whose host could not reach its store when it was killed. */
export interface SpillSnapshot {
  readonly killedAt: number;
  readonly session: SessionRead;
}

/** The text of an answer that is still being written. */
export function liveText({ live }: Pick<SessionRead, "live">): string {
  return (live?.messages ?? []).flatMap(({ parts }) => parts.map(({ text }) => text)).join("");
}
