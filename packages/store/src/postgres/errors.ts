import { type Failed, StoreFailure } from "@holdfast/engine";

/** A table or an index is missing or cannot be read. */
export class SchemaDamaged extends StoreFailure {}

/** The group met something that a fresh look at the database will show: run it again. */
export class RetryTransaction extends Error {}

/** The write names something that belongs to another session; it will not get better. */
export class IdConflict extends Error {}

/** PostgreSQL's code for what went wrong, when it was the server who said it. */
function sqlStateOf(error: unknown): string | undefined {
  if (!(error instanceof Error) || !("code" in error) || !("severity" in error)) return undefined;
  return typeof error.code === "string" ? error.code : undefined;
}

export type ErrorClass =
  /** The connection is gone, or the server is going: connect again. */
  | "lost"
  /** Rolled back through no fault of its own: run it again. */
  | "again"
  | "busy"
  | "full"
  /** This very data cannot be stored. */
  | "data"
  | "other";

export function classifyError(error: unknown): ErrorClass {
  if (error instanceof RetryTransaction) return "again";
  if (error instanceof IdConflict) return "data";
  const state = sqlStateOf(error);
  // What did not come from the server came from the connection to it.
  if (state === undefined) return "lost";
  if (state === "40001" || state === "40P01") return "again";
  if (state === "55P03" || state === "57014") return "busy";
  if (state === "53100" || state === "53200") return "full";
  if (/^(08|57P|25P03|53300)/.test(state) || state === "25006") return "lost";
  if (/^(22|23|54)/.test(state)) return "data";
  return "other";
}

const failuresByClass: Record<ErrorClass, { code: Failed["code"]; advice: string }> = {
  lost: { code: "store_unavailable", advice: "PostgreSQL cannot be reached." },
  again: { code: "store_busy", advice: "Others write to the same rows. Try again." },
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

export function storeFailureOf(error: unknown): StoreFailure {
  const { code, message } = failureOf(error);
  const damaged = /^(42P01|42703|XX)/.test(sqlStateOf(error) ?? "");
  return damaged ? new SchemaDamaged(code, message) : new StoreFailure(code, message);
}
