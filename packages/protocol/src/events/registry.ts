import { z } from "zod";
import { type EventId, eventId, type RunId, runId as runIdSchema, type Seq, seq } from "../ids.ts";
import { type JsonObject, jsonObject } from "../parts.ts";
import { type EventDefinition, type EventRole, indexDefinitions } from "./define.ts";
import { memoryEvents } from "./memory.ts";
import { outboxEvents } from "./outbox.ts";
import { runEvents } from "./run.ts";
import { sessionEvents } from "./session.ts";

/**
 * One row of a session's log as stored and sent. `data` is whatever was written: types and fields unknown to this
 * version pass through untouched.
 */
export interface StoredEvent {
  readonly seq: Seq;
  readonly id: EventId;
  readonly type: string;
  readonly v: number;
  /** The store's clock, in milliseconds. */
  readonly at: number;
  readonly runId?: RunId | undefined;
  /** Written by an import, a repair or a late recovery: it moves neither the last activity nor the list. */
  readonly quiet?: true | undefined;
  readonly data: JsonObject;
}

export const storedEvent: z.ZodType<StoredEvent> = z.looseObject({
  seq,
  id: eventId,
  type: z.string().regex(/^[a-z]+(\.[a-z]+)*$/),
  v: z.int().positive(),
  at: z.int().nonnegative(),
  runId: runIdSchema.optional(),
  quiet: z.literal(true).optional(),
  data: jsonObject,
});

/** An event without its seq and time yet. */
export type NewEvent = Pick<StoredEvent, "id" | "type" | "v" | "runId" | "data">;

export { type ApprovedFile, approvedFile, type CallDecision, callDecision } from "./decision.ts";
export { indexDefinitions, defineEvent, type EventDefinition, type EventRole } from "./define.ts";
export {
  type ApprovalAnswer,
  type ApprovalDecision,
  approvalAnswer,
  approvalDecision,
  type ApprovalDetails,
  answeredDetails,
  approvalDetails,
  askedDetails,
  approvalText,
  type RunState,
  type InputMode,
  type RequestRecord,
  requestRecord,
  runState,
  terminalStates,
  inputMode,
  clientId,
  partialCause,
  spillMark,
  type SpillMark,
} from "./run.ts";
export {
  type Alternative,
  alternative,
  type ChildBrief,
  childBrief,
  type ContextFrame,
  contextFrame,
  type ParentLink,
  parentLink,
  type ReasoningEffort,
  reasoningEffort,
  type RunBudget,
  type SeqRange,
  type SessionSettings,
  type TitleSource,
  seqRange,
  sessionSettings,
  titleSource,
} from "./session.ts";
export {
  type DeliveryKind,
  deliveryKind,
  inboundKey,
  type OutboxState,
  outboxState,
} from "./outbox.ts";
export {
  type PendingRecovery,
  pendingRecoveryIn,
  type RecoveryKind,
  waitingNoticeKinds,
} from "./run.ts";

/** Every event that this version writes or reads. */
export const eventDefinitions = [
  ...sessionEvents,
  ...runEvents,
  ...memoryEvents,
  ...outboxEvents,
] as const;
/** By type, then by version, so that a lookup per event builds no string. */
const versions = new Map<string, Map<number, EventDefinition>>();
for (const definition of indexDefinitions(eventDefinitions).values()) {
  const known = versions.get(definition.type) ?? new Map<number, EventDefinition>();
  versions.set(definition.type, known.set(definition.v, definition));
}

type Definition = (typeof eventDefinitions)[number];
export type EventType = Definition["type"];
export type EventData<T extends EventType> = z.infer<Extract<Definition, { type: T }>["schema"]>;
/** An event of a known type with checked data. */
export type KnownEvent = {
  [T in EventType]: Omit<StoredEvent, "type" | "data"> & { type: T; data: EventData<T> };
}[EventType];

export type DecodedEvent =
  | { readonly kind: "known"; readonly event: KnownEvent }
  /** Written by a newer Holdfast: kept and passed on without being understood here. */
  | { readonly kind: "foreign"; readonly event: StoredEvent }
  | { readonly kind: "invalid"; readonly event: StoredEvent; readonly reason: string };

export function definitionOf(type: string, v: number): EventDefinition | undefined {
  return versions.get(type)?.get(v);
}

/** A foreign event counts as passing: it changes neither version nor revision. */
export function roleOf(event: Pick<StoredEvent, "type" | "v">): EventRole {
  return definitionOf(event.type, event.v)?.role ?? "passing";
}

/** Data never changes once it is part of an event, so what a schema has accepted is not checked again. */
const decodedBefore = new WeakMap<StoredEvent["data"], EventDefinition>();

export function decodeEvent(event: StoredEvent): DecodedEvent {
  const definition = definitionOf(event.type, event.v);
  if (definition === undefined) return { kind: "foreign", event };
  if (decodedBefore.get(event.data) !== definition) {
    const data = definition.schema.safeParse(event.data);
    if (!data.success) return { kind: "invalid", event, reason: data.error.message };
    decodedBefore.set(event.data, definition);
  }
  // The original object, which the schema has just accepted: a copy would reorder its fields.
  return { kind: "known", event: event as KnownEvent };
}

/** A new event of a known type. The types are the check here: outside data was decoded before. */
export function newEvent<T extends EventType>(
  id: NewEvent["id"],
  type: T,
  data: EventData<T>,
  runId?: NewEvent["runId"],
): NewEvent {
  return { id, type, v: 1, data: data as NewEvent["data"], ...(runId && { runId }) };
}

/** The deltas an event settles; `undefined` if it cannot settle any. */
export function deltasSettledBy(event: KnownEvent): readonly (readonly [Seq, Seq])[] | undefined {
  switch (event.type) {
    case "message.assistant":
    case "message.tool":
    case "notice.added":
      return event.data.deltas;
    default:
      return undefined;
  }
}
