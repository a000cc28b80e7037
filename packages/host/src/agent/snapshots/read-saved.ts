import { lstat } from "node:fs/promises";
import { join } from "node:path";

import type { UnsavedReason } from "@holdfast/protocol";

import type { Jail, OpenFile } from "../workspace/jail.ts";

/** Larger files are named and not saved. */
const maxSavedBytes = 16 * 1024 * 1024;

export type ReadFile =
  | { readonly kind: "file"; readonly content: Uint8Array; readonly mode: number }
  | { readonly kind: "absent" }
  | { readonly kind: "refused"; readonly reason: UnsavedReason };

const absent = { kind: "absent" } as const;

/** A whole file as it was at one moment, or why there is none. */
export async function readWhole(jail: Jail, path: string): Promise<ReadFile> {
  const info = await lstat(join(jail.root, path)).catch(() => null);
  // A file that has become a folder is no longer there.
  if (info === null || info.isDirectory()) return absent;
  if (info.isSymbolicLink()) return { kind: "refused", reason: "link" };
  for (const isLast of [false, true]) {
    const read = await jail.read(path, readUnchanged);
    if (!read.ok) {
      const { code } = read.refusal;
      if (code === "not_found" || code === "not_a_folder") return absent;
      return { kind: "refused", reason: "unreadable" };
    }
    if (read.value !== "changing") return read.value;
    if (isLast) break;
  }
  return { kind: "refused", reason: "changing" };
}

async function readUnchanged({ handle, mode }: OpenFile): Promise<ReadFile | "changing"> {
  const before = await handle.stat();
  if (before.size > maxSavedBytes) return { kind: "refused", reason: "too_large" };
  const bytes = new Uint8Array(before.size + 1);
  let length = 0;
  for (;;) {
    const { bytesRead } = await handle.read(bytes, length, bytes.length - length, length);
    length += bytesRead;
    if (bytesRead === 0 || length === bytes.length) break;
  }
  const after = await handle.stat();
  const isSame = after.mtimeMs === before.mtimeMs && length === before.size;
  return isSame ? { kind: "file", content: bytes.subarray(0, length), mode } : "changing";
}
