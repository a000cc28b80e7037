export { blobIdOf } from "./blob-id.ts";
export { GroupQueue, type GroupQueueOptions, type Pace } from "./group-queue.ts";
export { type Migration, readMigrations } from "./migrations.ts";
export { OpenFailure, type OpenFailureCode } from "./open-failure.ts";
export { decodePayload, encodePayload, type DecodedPayload, type Payload } from "./payload.ts";
