import { z } from "zod";

import { seq } from "../ids.ts";

/**
 * What an event is in its session's log.
 * - `entry`: part of the conversation; it counts in the session's version.
 * - `meta`: changes the session's title, flags or shelf; it counts in the revision.
 * - `passing`: neither (accepted input, the state of a run, a tool's start).
 * - `delta`: passing output of a run, pruned once a settled entry carries the whole.
 */
export type EventRole = "entry" | "meta" | "passing" | "delta";

export interface EventDefinition<
  Type extends string = string,
  V extends number = number,
  Schema extends z.ZodType = z.ZodType,
> {
  readonly type: Type;
  readonly v: V;
  readonly role: EventRole;
  readonly schema: Schema;
}

/** The schema checks and never changes: no default, no transformation, nothing stripped. */
export function defineEvent<Type extends string, V extends number, Schema extends z.ZodType>(
  type: Type,
  v: V,
  role: EventRole,
  schema: Schema,
): EventDefinition<Type, V, Schema> {
  return { type, v, role, schema };
}

/**
 * The seqs of the deltas an entry settles, as inclusive ranges. A reader inside them takes the entry instead. One
 * commit settles all open deltas.
 */
export const settledDeltas = z.array(z.tuple([seq, seq])).optional();

/** `type.version` names one schema forever; a second definition is a bug that stops the load. */
export function indexDefinitions(
  definitions: readonly EventDefinition[],
): ReadonlyMap<string, EventDefinition> {
  const index = new Map<string, EventDefinition>();
  for (const definition of definitions) {
    const name = `${definition.type}.${definition.v}`;
    if (index.has(name)) throw new Error(`The event ${name} is defined twice.`);
    index.set(name, definition);
  }
  return index;
}
