import {
  type NewEvent,
  type RunState,
  type SeqRange,
  terminalStates,
  type ApprovalDecision,
  type ApprovalId,
  type DeliveryId,
  type LaneKey,
  type MessageId,
  type OutboxState,
  type RunId,
  type SessionMode,
} from "@holdfast/protocol";

import {
  aChatLane,
  aChunk,
  aMark,
  anAnswer,
  anApproval,
  anEvent,
  aCut,
  aDelta,
  anInput,
  aRunState,
  aSegment,
  aSettledMessage,
  aUsage,
  aUserMessage,
} from "../fixtures/factories.ts";

export interface SettingsChange {
  readonly title?: string;
  readonly titleSource?: "generated" | "chosen";
  readonly pinned?: boolean;
  readonly archived?: boolean;
  readonly project?: string | null;
  readonly tags?: readonly string[];
  readonly mode?: SessionMode;
  readonly persona?: string | null;
}

/** What a writer does, in terms that both the store and the model understand. */
export type Action =
  | { readonly do: "create"; readonly origin?: Origin; readonly ranges: readonly SeqRange[] }
  | { readonly do: "say"; readonly text: string; readonly takes?: MessageId }
  | {
      readonly do: "answer";
      readonly text: string;
      readonly settles?: readonly (readonly [number, number])[];
    }
  | { readonly do: "stream"; readonly text: string }
  | {
      readonly do: "accept";
      readonly clientId: string;
      readonly text: string;
      readonly messageId: MessageId;
      readonly runId: RunId;
      /** It came from a platform under this key, and this delivery answers it. */
      readonly inbound?: { readonly key: string; readonly delivery: DeliveryId };
    }
  | { readonly do: "remove"; readonly messageId: MessageId }
  | { readonly do: "run"; readonly runId: RunId; readonly state: RunState }
  | {
      readonly do: "cut";
      readonly ranges: readonly SeqRange[];
      readonly messageCount: number;
      readonly preview: string;
    }
  | { readonly do: "change"; readonly change: SettingsChange }
  | { readonly do: "spend"; readonly tokens: number }
  | { readonly do: "ask"; readonly approvalId: ApprovalId; readonly runId: RunId }
  | { readonly do: "grant"; readonly approvalId: ApprovalId; readonly decision: ApprovalDecision }
  | { readonly do: "mark"; readonly runId: RunId }
  | {
      readonly do: "remember";
      readonly how: "tried" | "failed" | "committed";
      readonly upTo: number;
      readonly tries: number;
    }
  | {
      readonly do: "deliver";
      readonly delivery: DeliveryId;
      readonly chunk: number;
      readonly state: OutboxState;
      readonly attempts: number;
    }
  | { readonly do: "bind"; readonly lane: LaneKey }
  | { readonly do: "trash" }
  | { readonly do: "restore" }
  | { readonly do: "blunder" };

export interface Origin {
  readonly sessionId: NonNullable<SeqRange["log"]>;
  readonly seq: NonNullable<SeqRange["to"]>;
}

export type Entry = Extract<Action, { do: "say" | "answer" | "cut" }>;

/** Part of the conversation. */
export function isEntry(action: Action): action is Entry {
  return action.do === "say" || action.do === "answer" || action.do === "cut";
}

/** What moves a session up in the list. */
export function movesSortOrder(action: Action): boolean {
  if (action.do === "run") return terminalStates.has(action.state);
  return ["create", "say", "answer", "accept", "restore"].includes(action.do);
}

/** Actions whose text is the preview. */
export function isMessageAction(
  action: Action,
): action is Extract<Action, { do: "say" | "answer" | "accept" }> {
  return action.do === "say" || action.do === "answer" || action.do === "accept";
}

/** Streamed output needs a run; which one doesn't matter here. */
export function eventForAction(action: Action, run: RunId): NewEvent {
  switch (action.do) {
    case "create":
      return anEvent("session.created", {
        ...(action.origin && { origin: { ...action.origin } }),
        ranges: [...action.ranges],
      });
    case "say":
      return aUserMessage(action.text, action.takes);
    case "answer":
      return aSettledMessage(run, action.text, action.settles);
    case "stream":
      return aDelta(run, action.text);
    case "accept": {
      const { clientId, text, messageId, runId, inbound } = action;
      const came = inbound && { inbound: { ...inbound }, lane: aChatLane() };
      return anInput({ clientId, text, messageId, runId, ...came });
    }
    case "remove":
      return anEvent("input.removed", { messageId: action.messageId });
    case "run":
      return aRunState(action.runId, action.state);
    case "cut":
      return aCut(action.ranges, action);
    case "change": {
      const { tags, ...rest } = action.change;
      return anEvent("session.changed", { ...rest, ...(tags && { tags: [...tags] }) });
    }
    case "spend":
      return aUsage(run, { input: action.tokens, output: 0 });
    case "ask":
      return anApproval(action.runId, { approvalId: action.approvalId });
    case "grant":
      return anAnswer(action.approvalId, action.decision);
    case "mark":
      return aMark(action.runId);
    case "remember":
      return aSegment(action.how, action.upTo, { tries: action.tries });
    case "deliver": {
      const { do: _, ...chunk } = action;
      return aChunk({ ...chunk, to: chunk.attempts });
    }
    case "bind":
      return anEvent("lane.bound", { lane: action.lane });
    case "trash":
      return anEvent("session.trashed", {});
    case "restore":
      return anEvent("session.restored", {});
    case "blunder":
      return { ...aUserMessage(), data: { parts: "none" } };
  }
}
