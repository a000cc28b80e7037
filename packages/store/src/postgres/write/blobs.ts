import type { PutBlobResult } from "@holdfast/engine";

import type { NewBlob } from "./changes.ts";
import { createJob, type PendingJob } from "./jobs.ts";

export function blobJob(blob: NewBlob): PendingJob<PutBlobResult> {
  return createJob<PutBlobResult>({
    decide: (copy) => {
      copy.changes.blobs.push(blob);
      return { status: "stored", id: blob.id, size: blob.bytes.byteLength };
    },
    failed: (failure) => failure,
  });
}
