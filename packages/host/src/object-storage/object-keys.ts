import { randomBytes } from "node:crypto";
import type { BlobId } from "@holdfast/protocol";

/** Each put has a key of its own, so an object that is being deleted is never put again. */
export function newObjectKey(id: BlobId): string {
  const hash = id.slice("blob_".length);
  return `blobs/${hash.slice(0, 2)}/${hash}-${randomBytes(8).toString("hex")}`;
}

/** Whether an object has a key like these, and so was put by Holdfast. */
export const isBlobKey = (key: string): boolean =>
  /^blobs\/([0-9a-f]{2})\/\1[0-9a-f]{62}-[0-9a-f]{16}$/.test(key);
