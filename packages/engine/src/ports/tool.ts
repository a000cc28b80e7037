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
  /** The folder the tool works in, as the tool itself resolved it. */
  readonly place?: string;
  /** The workspace's name on every host. Approvals are bound to it, or to the folder if there is no name. */
  readonly workspace?: string;
  /** A person's answer, for a call that is a question. */
  readonly answer?: string;
}

/** A folder on this host, and the name it shares with hosts that have other homes. */
export interface ToolPlace {
  readonly folder: string;
  readonly workspace: string;
}

/** What a running tool gets besides its call. */
export interface ToolContext {
  /** Aborted by a cancel, the time limit or the loss of the lease. Whatever the tool started must end with it. */
  readonly signal: AbortSignal;
  /** Shows output while the tool runs. */
  readonly write: (text: string) => void;
}

export interface ToolResult {
  /** `unknown`: it started elsewhere, and nobody can tell any more what it did. */
  readonly outcome: ToolOutcome;
  readonly output: string;
  readonly blobId?: BlobId;
  /** For people and pages; the model gets only the output. Dropped if too large. */
  readonly details?: ToolDetails;
}

/**
 * A tool as the engine sees it. It returns a value even if it fails; an exception counts as a failure. P7: `replay:
 * "safe"` promises that running it again does no harm; every other tool that started and has no recorded end is
 * `unknown`, and is never started again for the same call.
 */
export interface Tool extends ToolSpec {
  readonly replay: "never" | "safe";
  readonly timeLimitMs: number;
  /**
   * Whether a call with this input needs approval before it runs; without this, none does. A `question` waits the same
   * way and gets the person's answer.
   */
  approval?(input: Json): ApprovalNeed;
  /**
   * Where a call would work (a folder, for example). An approval holds only there, and `run` gets exactly the place
   * that was decided on. Rejects if there is no such place: the call then fails. A plain string is a place that has
   * the same name on every host.
   */
  place?(call: ToolCall): Promise<string | ToolPlace>;
  run(call: ToolCall, context: ToolContext): Promise<ToolResult>;
}

export type ApprovalNeed = "none" | "ask" | "question";

/** A call that is about to run, and its tool's approval need. */
export interface PolicyQuestion extends ToolCall {
  readonly name: string;
  readonly asks: ApprovalNeed;
}

/** A person's permanent decision: calls the rule covers run without asking. */
export interface PolicyRule {
  readonly owner: OwnerId;
  readonly tool: string;
  /** The approval it was given with; it identifies the rule. */
  readonly approvalId: ApprovalId;
  readonly session: SessionId;
  /** As the policy wrote it; the whole tool if it wrote none. */
  readonly rule: string | null;
  readonly by: string | null;
}

export type PolicyDecision =
  /** With the rule that allows it, if any. */
  { readonly kind: "allow"; readonly rule?: string } | { readonly kind: "ask" | "deny" };

/**
 * What may run here. It is asked once for each call that has not started; if it cannot answer, a person is asked.
 * Decisions for a session are in the log; `remember` gets the permanent ones, at least once.
 */
export interface ToolPolicy {
  decide(question: PolicyQuestion): Promise<PolicyDecision>;
  /** What a person is shown besides the call itself: what it does in words, and rules that would cover it. */
  describe?(question: PolicyQuestion): Promise<Pick<ApprovalDetails, "shown" | "rules">>;
  /** Whether a rule a person chose for this session covers a call. */
  covers?(rule: string, question: PolicyQuestion): Promise<boolean>;
  remember(rule: PolicyRule): Promise<void>;
}
