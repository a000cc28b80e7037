import type {
  ApprovalDetails,
  ApprovalId,
  ApprovedFile,
  BlobId,
  CallId,
  Json,
  JsonObject,
  LaneKey,
  OwnerId,
  Rights,
  RunId,
  SessionId,
  SessionMode,
  ShownImage,
  SkillMark,
  TaintSource,
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
  /** What the message behind the run may cause; everything if absent. */
  readonly rights?: Rights;
  /** Where the run's message came from. */
  readonly lane?: LaneKey | null;
  /** What the model has read that a stranger may have written. */
  readonly taint?: readonly TaintSource[];
  /** The mode that applies to the call; `ask` if absent. */
  readonly mode?: SessionMode;
  /** It was allowed only because a sandbox confines it: without one it must not run. */
  readonly confined?: true;
  /** What `snapshot` returned. */
  readonly snapshot?: string;
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
  /**
   * Asks a person on every surface that shows the session, and waits for the answer; the tool's time limit waits too.
   * Absent where nobody can be asked.
   */
  readonly ask?: (question: ToolQuestion) => Promise<PersonsAnswer>;
}

/** A question that a tool asks while it runs. */
export interface ToolQuestion {
  /** What is shown: `question`, `choices` and whatever else surfaces know how to show. */
  readonly input: JsonObject;
  readonly timeLimitMs: number;
  /** Aborted when the answer is no longer wanted. */
  readonly signal?: AbortSignal;
}

export type PersonsAnswer =
  | { readonly status: "answered"; readonly answer: string }
  | { readonly status: "declined" }
  /** Nobody answered in time, or the answer is no longer wanted. */
  | { readonly status: "expired" }
  /** The run was cancelled or lost. */
  | { readonly status: "stopped" };

export interface ToolResult {
  /** `unknown`: it started elsewhere, and nobody can tell any more what it did. */
  readonly outcome: ToolOutcome;
  readonly output: string;
  readonly blobId?: BlobId;
  /** For people and pages; the model gets only the output. Dropped if too large. */
  readonly details?: ToolDetails;
  /** Pictures that the model is shown with the output, if it takes any. */
  readonly images?: readonly ShownImage[];
  /** The output is the instructions of this skill, which a compaction must keep. */
  readonly skill?: SkillMark;
  /** What a stranger may have written of the output, besides what the tool itself declares. */
  readonly taint?: readonly TaintSource[];
}

/**
 * A tool as the engine sees it. It returns a value even if it fails; an exception counts as a failure. P7: `replay:
 * "safe"` promises that running it again does no harm; every other tool that started and has no recorded end is
 * `unknown`, and is never started again for the same call.
 */
export interface Tool extends ToolSpec {
  readonly replay: "never" | "safe";
  readonly timeLimitMs: number;
  /** A digest of what the tool is, if somebody else may change that behind its name. */
  readonly identity?: string;
  /**
   * Whether a call with this input needs approval before it runs; without this, none does. A `question` waits the same
   * way and gets the person's answer.
   */
  approval?(input: Json): ApprovalNeed;
  /** Whether a call with this input changes nothing. In plan mode no other call runs. */
  onlyReads?(input: Json): boolean;
  /**
   * Where a call would work (a folder, for example). An approval holds only there, and `run` gets exactly the place
   * that was decided on. Rejects if there is no such place: the call then fails. A plain string is a place that has
   * the same name on every host.
   */
  place?(call: ToolCall): Promise<string | ToolPlace>;
  /** What a stranger may have written of this call's output, however it ends. */
  taint?(input: Json): readonly TaintSource[];
  /**
   * Saves what the call may change, before it starts. The name of the snapshot is recorded with the start; without one,
   * or if this rejects, the call starts all the same.
   */
  snapshot?(call: ToolCall, signal: AbortSignal): Promise<string | undefined>;
  run(call: ToolCall, context: ToolContext): Promise<ToolResult>;
}

/** `plan`: a question whose answer may approve a plan, and then switches the session's mode. */
export type ApprovalNeed = "none" | "ask" | "question" | "plan";

/** A call that is about to run, and its tool's approval need. */
export interface PolicyQuestion extends ToolCall {
  readonly name: string;
  readonly asks: ApprovalNeed;
  readonly identity?: string;
  /** What the call would load, as the policy found it. */
  readonly files?: readonly ApprovedFile[];
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
  /** When it ends by itself, by the store's clock. */
  readonly until?: number;
  /** The files its call loads: if one changes, the person is asked again. */
  readonly files?: readonly ApprovedFile[];
}

export type PolicyDecision =
  /** With the rule that allows it, if any. `confined`: it is allowed in a sandbox alone. */
  | { readonly kind: "allow"; readonly rule?: string; readonly confined?: true }
  /** `binding`: no earlier answer of a person covers it. */
  | { readonly kind: "ask"; readonly binding?: true }
  | { readonly kind: "deny" };

/**
 * What may run here. It is asked once for each call that has not started; if it cannot answer, a person is asked.
 * Decisions for a session are in the log; `remember` gets the permanent ones, at least once.
 */
export interface ToolPolicy {
  decide(question: PolicyQuestion): Promise<PolicyDecision>;
  /** The files that a call would load. They are part of what is approved. */
  files?(question: PolicyQuestion): Promise<readonly ApprovedFile[]>;
  /** What a person is shown besides the call itself: what it does in words, and rules that would cover it. */
  describe?(
    question: PolicyQuestion,
  ): Promise<Pick<ApprovalDetails, "shown" | "hidden" | "rules" | "notes" | "sandbox">>;
  /** What confines the process that a call starts; `null` if it starts none. */
  confines?(question: PolicyQuestion): Promise<ApprovalDetails["sandbox"] | null>;
  /**
   * Whether a rule a person chose for this session covers a call. If there is none, the policy knows no rules, and a
   * permanent yes holds for its session; otherwise `decide` applies what `remember` was given.
   */
  covers?(rule: string, question: PolicyQuestion): Promise<boolean>;
  /** What a stranger may have written of a call's output, by rules. */
  taints?(question: PolicyQuestion): Promise<readonly TaintSource[]>;
  remember(rule: PolicyRule): Promise<void>;
}
