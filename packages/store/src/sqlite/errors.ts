import type { Failed, FailureCode } from "@holdfast/engine";

import { OpenFailure } from "../shared/open-failure.ts";

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

/** What an I/O error was about, by its extended code. */
const whileWriting = 10 | (3 << 8);
const whileSyncing = 10 | (4 << 8);
const whileSyncingFolder = 10 | (5 << 8);
const whileCutting = 10 | (6 << 8);
const whileKeeping: ReadonlySet<number> = new Set([
  whileWriting,
  whileSyncing,
  whileSyncingFolder,
  whileCutting,
]);

function extendedCodeOf(error: unknown): number | undefined {
  if (!(error instanceof Error) || !("errcode" in error)) return undefined;
  return typeof error.errcode === "number" ? error.errcode : undefined;
}

function codeOf(error: unknown): number | undefined {
  const extended = extendedCodeOf(error);
  return extended === undefined ? undefined : extended & 0xff;
}

export function isBusy(error: unknown): boolean {
  const code = codeOf(error);
  return code === primary.busy || code === primary.locked;
}

/**
 * Whether the bytes themselves were not taken: no room, a limit or a quota, a disk that is read-only by now. Not when they
 * could not be synced: then they may stand or not.
 */
export function wasNotTaken(error: unknown): boolean {
  const code = codeOf(error);
  if (code === primary.full || code === primary.readOnly) return true;
  return extendedCodeOf(error) === whileWriting;
}

/** Whether a connection that met this is not to be trusted with the next write, whatever the disk says by then. */
export function spoilsConnection(error: unknown): boolean {
  const code = codeOf(error);
  return code === primary.ioError || code === primary.readOnly || code === primary.cannotOpen;
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
    {
      code: "store_unwritable",
      advice:
        "The database cannot be written. Check its permissions, and that its disk is not read-only.",
    },
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

const notKept = {
  code: "store_unwritable",
  advice:
    "The disk does not keep what is written. Check it, its quota and the limit on file sizes.",
} as const;

/** What a storage error means to the caller. Anything that is not a storage error is a bug and stays an exception. */
export function failureOf(error: unknown): Failed {
  const isNotKept = whileKeeping.has(extendedCodeOf(error) ?? -1);
  const meaning = isNotKept ? notKept : meanings.get(codeOf(error) ?? -1);
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
