import type { Failed, FailureCode } from "@holdfast/engine";

import { OpenFailure } from "../shared/open-failure.ts";

/** The primary result codes of SQLite that are told apart here. */
const resultCode = {
  busy: 5,
  locked: 6,
  readOnly: 8,
  ioError: 10,
  corrupt: 11,
  full: 13,
  cannotOpen: 14,
  notADatabase: 26,
};

/** Extended result codes of I/O errors. */
const ioErrWrite = 10 | (3 << 8);
const ioErrFsync = 10 | (4 << 8);
const ioErrDirFsync = 10 | (5 << 8);
const ioErrTruncate = 10 | (6 << 8);
const durabilityErrors: ReadonlySet<number> = new Set([
  ioErrWrite,
  ioErrFsync,
  ioErrDirFsync,
  ioErrTruncate,
]);

function extendedCodeOf(error: unknown): number | undefined {
  if (!(error instanceof Error) || !("errcode" in error)) return undefined;
  return typeof error.errcode === "number" ? error.errcode : undefined;
}

function primaryCodeOf(error: unknown): number | undefined {
  const extended = extendedCodeOf(error);
  return extended === undefined ? undefined : extended & 0xff;
}

export function isBusy(error: unknown): boolean {
  const code = primaryCodeOf(error);
  return code === resultCode.busy || code === resultCode.locked;
}

/**
 * Whether the disk refused the bytes: no space, a limit or quota, or a disk that turned read-only. Not when the sync
 * failed: then the bytes may or may not be on disk.
 */
export function wereBytesRejected(error: unknown): boolean {
  const code = primaryCodeOf(error);
  if (code === resultCode.full || code === resultCode.readOnly) return true;
  return extendedCodeOf(error) === ioErrWrite;
}

/** Whether a connection that hit this error must not be used for the next write, even if the disk recovers. */
export function requiresReconnect(error: unknown): boolean {
  const code = primaryCodeOf(error);
  return (
    code === resultCode.ioError || code === resultCode.readOnly || code === resultCode.cannotOpen
  );
}

const failuresByCode = new Map<number, { code: FailureCode; advice: string }>([
  [
    resultCode.busy,
    { code: "store_busy", advice: "Another process holds the database. Try again." },
  ],
  [
    resultCode.locked,
    { code: "store_busy", advice: "Another process holds the database. Try again." },
  ],
  [
    resultCode.full,
    { code: "store_full", advice: "The disk is full. Make room; nothing was lost." },
  ],
  [
    resultCode.readOnly,
    {
      code: "store_unwritable",
      advice:
        "The database cannot be written. Check its permissions, and that its disk is not read-only.",
    },
  ],
  [
    resultCode.ioError,
    { code: "store_unavailable", advice: "The disk reported an error. Check it, then run fsck." },
  ],
  [
    resultCode.corrupt,
    {
      code: "store_unavailable",
      advice: "The database is damaged. Run fsck, or restore a backup.",
    },
  ],
  [
    resultCode.cannotOpen,
    { code: "store_unavailable", advice: "The database cannot be opened. Check its folder." },
  ],
  [
    resultCode.notADatabase,
    { code: "store_unavailable", advice: "The file is not a database. Choose another file." },
  ],
]);

const notDurable = {
  code: "store_unwritable",
  advice:
    "The disk does not keep what is written. Check it, its quota and the limit on file sizes.",
} as const;

/** What a storage error means to the caller. Anything else is a bug and stays an exception. */
export function failureOf(error: unknown): Failed {
  const isNotDurable = durabilityErrors.has(extendedCodeOf(error) ?? -1);
  const meaning = isNotDurable ? notDurable : failuresByCode.get(primaryCodeOf(error) ?? -1);
  const detail = error instanceof Error ? error.message : String(error);
  if (meaning === undefined)
    return { status: "failed", code: "store_unavailable", message: detail };
  return { status: "failed", code: meaning.code, message: `${meaning.advice} (${detail})` };
}

export function openFailureOf(error: unknown): OpenFailure {
  if (error instanceof OpenFailure) return error;
  const isNotADatabase = primaryCodeOf(error) === resultCode.notADatabase;
  return new OpenFailure(
    isNotADatabase ? "not_a_store" : "store_unavailable",
    failureOf(error).message,
  );
}
