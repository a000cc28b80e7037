import type { Client } from "../client/create-client.ts";
import type { LaneKey, SessionId } from "@holdfast/protocol";

/** Where a command was typed, and what it can reach from there. */
export interface CommandContext {
  readonly client: Client;
  /** The session that the surface is in; `null` before the first. */
  readonly sessionId: SessionId | null;
  readonly lane?: LaneKey;
  /**
   * Names this one typing of the command. The same again under the same key is done once, so a platform that
   * delivers twice cuts once.
   */
  readonly key: string;
  /** Which sessions may be told of and gone to from here; all of them unless told. */
  readonly mayReach?: (session: SessionId) => Promise<boolean>;
  /** Milliseconds since the epoch, by the surface's clock. */
  readonly now: () => number;
}

/** A place that is in a session. */
export interface SessionCommandContext extends CommandContext {
  readonly sessionId: SessionId;
}

/** Those of them that may be told of here. */
export async function filterReachable<T>(
  { mayReach }: CommandContext,
  found: readonly T[],
  sessionOf: (each: T) => SessionId,
): Promise<readonly T[]> {
  if (mayReach === undefined) return found;
  const isWithin = await Promise.all(found.map((each) => mayReach(sessionOf(each))));
  return found.filter((_, index) => isWithin[index]);
}

export function idempotencyHeader(place: CommandContext): { readonly "idempotency-key": string } {
  return { "idempotency-key": place.key };
}
