import type { Failed, FailureCode } from "@holdfast/engine";

import { OpenFailure } from "../shared/index.ts";

/** SQLite's primary result codes, as far as they are told apart here. */
const primary = {
  busy: 5,
  locked: 6,
  readOnly: 8,
  ioError: 10,
  corrupt: 11,
  full: 13,
  cannotOpen: 14,
  notADatabase: 26,
};

function codeOf(error: unknown): number | undefined {
  if (!(error instanceof Error) || !("errcode" in error)) return undefined;
  return typeof error.errcode === "number" ? error.errcode & 0xff : undefined;
}

export function isBusy(error: unknown): boolean {
  const code = codeOf(error);
  return code === primary.busy || code === primary.locked;
}

export function isFull(error: unknown): boolean {
  return codeOf(error) === primary.full;
}

const meanings = new Map<number, { code: FailureCode; advice: string }>([
  [primary.busy, { code: "store_busy", advice: "Another process holds the database. Try again." }],
  [
    primary.locked,
    { code: "store_busy", advice: "Another process holds the database. Try again." },
  ],
  [primary.full, { code: "store_full", advice: "The disk is full. Make room; nothing was lost." }],
  [
    primary.readOnly,
    { code: "store_unavailable", advice: "The database cannot be written. Check its permissions." },
  ],
  [
    primary.ioError,
    { code: "store_unavailable", advice: "The disk reported an error. Check it, then run fsck." },
  ],
  [
    primary.corrupt,
    {
      code: "store_unavailable",
      advice: "The database is damaged. Run fsck, or restore a backup.",
    },
  ],
  [
    primary.cannotOpen,
    { code: "store_unavailable", advice: "The database cannot be opened. Check its folder." },
  ],
  [
    primary.notADatabase,
    { code: "store_unavailable", advice: "The file is not a database. Choose another file." },
  ],
]);

/** What a storage error means to the caller. Anything that is not a storage error is a bug and stays an exception. */
export function failureOf(error: unknown): Failed {
  const meaning = meanings.get(codeOf(error) ?? -1);
  const detail = error instanceof Error ? error.message : String(error);
  if (meaning === undefined)
    return { status: "failed", code: "store_unavailable", message: detail };
  return { status: "failed", code: meaning.code, message: `${meaning.advice} (${detail})` };
}

/** Why a store could not be opened. */
export function openFailureOf(error: unknown): OpenFailure {
  if (error instanceof OpenFailure) return error;
  const isOther = codeOf(error) === primary.notADatabase;
  return new OpenFailure(isOther ? "not_a_store" : "store_unavailable", failureOf(error).message);
}
