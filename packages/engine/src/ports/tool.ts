import type {
  ApprovalDetails,
  ApprovalId,
  BlobId,
  CallId,
  Json,
  OwnerId,
  RunId,
  SessionId,
  ToolDetails,
  ToolOutcome,
  ToolSpec,
} from "@holdfast/protocol";

export interface ToolCall {
  readonly owner: OwnerId;
  readonly session: SessionId;
  readonly runId: RunId;
  readonly callId: CallId;
  readonly input: Json;
  /** Where the tool works, as it has said itself. An approval is bound to it. */
  readonly place?: string;
  /** What a person has answered, to a call that is a question. */
  readonly answer?: string;
}

/** What a tool is given to work with. */
export interface ToolContext {
  /** Aborted by a cancel, by the time limit and by the loss of the lease. What the tool started must end with it. */
  readonly signal: AbortSignal;
  /** Shows output while the tool runs. */
  readonly write: (text: string) => void;
}

export interface ToolResult {
  /** `unknown`: it was begun elsewhere, and nobody can say any more what it did. */
  readonly outcome: ToolOutcome;
  readonly output: string;
  readonly blobId?: BlobId;
  /** For people and pages; the model gets the output alone. What is too large to keep is left out. */
  readonly details?: ToolDetails;
}

/**
 * A tool as the engine sees it. It answers with a value, also when it fails; an exception is taken for a failure.
 * P7: `replay: "safe"` is a promise that running it again does no harm; every other tool that was started and not
 * seen to end is `unknown`, and is never started again for the same call.
 */
export interface Tool extends ToolSpec {
  readonly replay: "never" | "safe";
  readonly timeLimitMs: number;
  /**
   * Whether a call with this input needs a person's word before it runs. None does when this is absent. A `question` waits in
   * the same way, and is given what the person has answered.
   */
  approval?(input: Json): ApprovalNeed;
  /**
   * Where a call would work (a folder, for example). What a person allows is allowed there and nowhere else, and `run` is
   * given the very place that was decided on. Rejects when there is no such place: then the call has failed.
   */
  place?(call: ToolCall): Promise<string>;
  run(call: ToolCall, hands: ToolContext): Promise<ToolResult>;
}

export type ApprovalNeed = "none" | "ask" | "question";

/** A call that is about to run, and what its tool says about it. */
export interface PolicyQuestion extends ToolCall {
  readonly name: string;
  readonly asks: ApprovalNeed;
}

/** What a person has said for good: calls that the rule covers may run without being asked for. */
export interface PolicyRule {
  readonly owner: OwnerId;
  readonly tool: string;
  /** The approval that it was said with; it names the rule. */
  readonly approvalId: ApprovalId;
  readonly session: SessionId;
  /** As the policy has written it; the whole tool when it has written none. */
  readonly rule: string | null;
  readonly by: string | null;
}

export type PolicyDecision =
  /** With the rule that says so, where one does. */
  { readonly kind: "allow"; readonly rule?: string } | { readonly kind: "ask" | "deny" };

/**
 * What may run here. It is asked once for each call that nobody has begun; when it cannot answer, a person is asked. What
 * people say for a session is kept in the log; `remember` gets what they say for always, at least once.
 */
export interface ToolPolicy {
  decide(question: PolicyQuestion): Promise<PolicyDecision>;
  /** What a person who is asked is told beside the call itself: what it does in words, and rules that would cover it. */
  describe?(question: PolicyQuestion): Promise<Pick<ApprovalDetails, "shown" | "rules">>;
  /** Whether a rule that a person has chosen for this session covers a call. */
  covers?(rule: string, question: PolicyQuestion): Promise<boolean>;
  remember(rule: PolicyRule): Promise<void>;
}
