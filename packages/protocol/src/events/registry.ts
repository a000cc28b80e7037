import { z } from "zod";

import { type EventId, eventId, type RunId, runId, type Seq, seq } from "../ids.ts";
import { type JsonObject, jsonObject } from "../parts.ts";

/**
 * One row of a session's log as it is stored and sent. `data` is whatever was written: a type or a field
 * that this version does not know passes through untouched.
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
  runId: runId.optional(),
  quiet: z.literal(true).optional(),
  data: jsonObject,
});

/** An event that has not been given its number and its time yet. */
export type NewEvent = Pick<StoredEvent, "id" | "type" | "v" | "runId" | "data">;
