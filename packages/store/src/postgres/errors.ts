import { type Failed, StoreFailure } from "@holdfast/engine";
import { backoffMs } from "@holdfast/protocol";

/** A table or index is missing or unreadable. */
export class SchemaDamaged extends StoreFailure {}

/** The group ran into a concurrent change: run it again on fresh rows. */
export class RetryTransaction extends Error {}

/** The write names an id that belongs to another session; a retry won't help. */
export class IdConflict extends Error {}

/** The SQLSTATE, if the error came from the server. */
function sqlStateOf(error: unknown): string | undefined {
  if (!(error instanceof Error) || !("code" in error) || !("severity" in error)) return undefined;
  return typeof error.code === "string" ? error.code : undefined;
}

/** A statement waited longer than `lock_timeout`. */
export function isLockTimeout(error: unknown): boolean {
  return sqlStateOf(error) === "55P03";
}

/** "cached plan must not change result type": a migration has changed a table since the statement was prepared. */
function isOutdatedPlan(error: unknown): boolean {
  return error instanceof Error && "routine" in error && error.routine === "RevalidateCachedQuery";
}

export type ErrorClass =
  /** The connection is gone or useless, or the server is shutting down: reconnect. */
  | "lost"
  /** Rolled back because of a conflict: run it again. */
  | "retry"
  | "busy"
  | "full"
  /** The data itself can't be stored. */
  | "data"
  | "other";

export function classifyError(error: unknown): ErrorClass {
  if (error instanceof RetryTransaction) return "retry";
  if (error instanceof IdConflict) return "data";
  const state = sqlStateOf(error);
  // Whatever didn't come from the server came from the connection to it.
  if (state === undefined) return "lost";
  // Only a new connection prepares the statement again.
  if (isOutdatedPlan(error)) return "lost";
  if (state === "40001" || state === "40P01") return "retry";
  if (isLockTimeout(error) || state === "57014") return "busy";
  if (state === "53100" || state === "53200") return "full";
  if (/^(08|57P|25P03|53300)/.test(state) || state === "25006") return "lost";
  if (/^(22|23|54)/.test(state)) return "data";
  return "other";
}

const failuresByClass: Record<ErrorClass, { code: Failed["code"]; advice: string }> = {
  lost: { code: "store_unavailable", advice: "PostgreSQL cannot be reached." },
  retry: { code: "store_busy", advice: "Others write to the same rows. Try again." },
  busy: { code: "store_busy", advice: "Someone holds the rows for too long. Try again." },
  full: { code: "store_full", advice: "PostgreSQL has no room. Make some; nothing was lost." },
  data: { code: "store_unavailable", advice: "PostgreSQL does not take this." },
  other: { code: "store_unavailable", advice: "PostgreSQL reported an error." },
};

export function failureOf(error: unknown): Failed {
  const { code, advice } = failuresByClass[classifyError(error)];
  const detail = error instanceof Error ? error.message : String(error);
  return { status: "failed", code, message: `${advice} (${detail})` };
}

export const storeClosed: Failed = {
  status: "failed",
  code: "store_closed",
  message: "The store was closed.",
};

export function storeFailureOf(error: unknown): StoreFailure {
  const { code, message } = failureOf(error);
  const damaged = /^(42P01|42703|XX)/.test(sqlStateOf(error) ?? "");
  return damaged ? new SchemaDamaged(code, message) : new StoreFailure(code, message);
}

const retryBackoff = { firstMs: 20, longestMs: 500 };

/** A random wait below the backoff, so that conflicting transactions do not collide again. */
export function retryDelayMs(tries: number): number {
  return Math.random() * backoffMs(retryBackoff, tries);
}
