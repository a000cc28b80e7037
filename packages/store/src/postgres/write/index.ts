export { blobJob } from "./blobs.ts";
export { commitJob } from "./commits.ts";
export { createJob, type PendingJob } from "./job.ts";
export { acquireJob, releaseJob, renewJob } from "./leases.ts";
export { pruneJob } from "./prune.ts";
export { purgeJob } from "./purge.ts";
export { replaceBlobRefsJob, replaceDerivedJob } from "./repair.ts";
export { readClock } from "./transaction.ts";
export { Writer } from "./writer.ts";
