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
}

/** What a writer does, in words that both a store and the model are told. */
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
      /** It came from a platform under this key, and this delivery owes the answer. */
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
export function isEntry(act: Action): act is Entry {
  return act.do === "say" || act.do === "answer" || act.do === "cut";
}

/** What the list shows as something new. */
export function movesSortOrder(act: Action): boolean {
  if (act.do === "run") return terminalStates.has(act.state);
  return ["create", "say", "answer", "accept", "restore"].includes(act.do);
}

/** Whose text is shown below the title. */
export function isMessageAction(
  act: Action,
): act is Extract<Action, { do: "say" | "answer" | "accept" }> {
  return act.do === "say" || act.do === "answer" || act.do === "accept";
}

/** Streamed output needs a run to belong to; which one does not matter here. */
export function eventForAction(act: Action, run: RunId): NewEvent {
  switch (act.do) {
    case "create":
      return anEvent("session.created", {
        ...(act.origin && { origin: { ...act.origin } }),
        ranges: [...act.ranges],
      });
    case "say":
      return aUserMessage(act.text, act.takes);
    case "answer":
      return aSettledMessage(run, act.text, act.settles);
    case "stream":
      return aDelta(run, act.text);
    case "accept": {
      const { clientId, text, messageId, runId, inbound } = act;
      const came = inbound && { inbound: { ...inbound }, lane: aChatLane() };
      return anInput({ clientId, text, messageId, runId, ...came });
    }
    case "remove":
      return anEvent("input.removed", { messageId: act.messageId });
    case "run":
      return aRunState(act.runId, act.state);
    case "cut":
      return aCut(act.ranges, act);
    case "change": {
      const { tags, ...rest } = act.change;
      return anEvent("session.changed", { ...rest, ...(tags && { tags: [...tags] }) });
    }
    case "spend":
      return aUsage(run, { input: act.tokens, output: 0 });
    case "ask":
      return anApproval(act.runId, { approvalId: act.approvalId });
    case "grant":
      return anAnswer(act.approvalId, act.decision);
    case "mark":
      return aMark(act.runId);
    case "remember":
      return aSegment(act.how, act.upTo, { tries: act.tries });
    case "deliver": {
      const { do: _, ...chunk } = act;
      return aChunk({ ...chunk, to: chunk.attempts });
    }
    case "bind":
      return anEvent("lane.bound", { lane: act.lane });
    case "trash":
      return anEvent("session.trashed", {});
    case "restore":
      return anEvent("session.restored", {});
    case "blunder":
      return { ...aUserMessage(), data: { parts: "none" } };
  }
}
