import type { FileHandle } from "node:fs/promises";

import type { SpillFile, SpillResult } from "@holdfast/engine";

import { encodeEnd, encodeEvents } from "./content.ts";
import { encodeRecord } from "./format.ts";

/** Behind the header and its copy. */
const firstRecordNumber = 2;

/**
 * A spill under the pen of its runner. Each call is one record and one sync. After a write that failed the next one goes to
 * the same place, so that half a record is never left in the middle.
 */
export function createSpillFile(
  handle: FileHandle,
  begun: number,
  rest: { readonly remove: () => Promise<void>; readonly closed: () => void },
): SpillFile {
  let offset = begun;
  let number = firstRecordNumber;
  let isOpen = true;

  async function add(text: string): Promise<SpillResult> {
    if (!isOpen) return spillFailure(new Error("The spill was closed."));
    const record = encodeRecord(number, text);
    try {
      await writeAll(handle, record, offset);
      await handle.datasync();
    } catch (error) {
      return spillFailure(error);
    }
    offset += record.length;
    number += 1;
    return { status: "kept" };
  }

  async function close(): Promise<void> {
    if (!isOpen) return;
    isOpen = false;
    await handle.close().catch(() => undefined);
    rest.closed();
  }

  return {
    append: (events) => add(encodeEvents(events)),
    seal: (end) => add(encodeEnd(end)),
    close,
    async discard() {
      await rest.remove();
      await close();
    },
  };
}

export async function writeAll(handle: FileHandle, bytes: Buffer, offset: number): Promise<void> {
  for (let done = 0; done < bytes.length;) {
    const { bytesWritten } = await handle.write(bytes, done, bytes.length - done, offset + done);
    done += bytesWritten;
  }
}

export function spillFailure(error: unknown): Extract<SpillResult, { status: "failed" }> {
  const code = error instanceof Error && "code" in error ? error.code : undefined;
  const isFull = code === "ENOSPC" || code === "EDQUOT" || code === "EFBIG";
  const message = error instanceof Error ? error.message : String(error);
  return { status: "failed", code: isFull ? "spill_full" : "spill_unavailable", message };
}
