import { createHash } from "node:crypto";

import { blobId, type BlobId } from "@holdfast/protocol";

/** A blob's name is its content. */
export function blobIdOf(bytes: Uint8Array): BlobId {
  return blobId.parse(`blob_${createHash("sha256").update(bytes).digest("hex")}`);
}
