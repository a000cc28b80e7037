import { z } from "zod";

import { eventId, runId, seq } from "../ids.ts";
import { jsonObject } from "../parts.ts";

/**
 * One row of a session's log as it is stored and sent. `data` is whatever was written: a type or a field
 * that this version does not know passes through untouched.
 */
export const storedEvent = z.looseObject({
  seq,
  id: eventId,
  type: z.string().regex(/^[a-z]+(\.[a-z]+)*$/),
  v: z.int().positive(),
  /** The store's clock, in milliseconds. */
  at: z.int().nonnegative(),
  runId: runId.optional(),
  data: jsonObject,
});
export type StoredEvent = z.infer<typeof storedEvent>;

/** An event that has not been given its number and its time yet. */
export type NewEvent = Pick<StoredEvent, "id" | "type" | "v" | "data"> & {
  readonly runId?: StoredEvent["runId"];
};
