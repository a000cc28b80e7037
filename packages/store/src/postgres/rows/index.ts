export { decodeApproval, encodeApproval } from "./approval-row.ts";
export {
  decodeBlobRow,
  decodeInput,
  decodeLane,
  decodePurge,
  decodeRun,
  decodeUsage,
  encodeInput,
  encodeLane,
  encodeRun,
  encodeUsage,
} from "./derived-rows.ts";
export {
  decodeEventRow,
  decodeEvents,
  encodeDelta,
  encodeEvent,
  eventColumns,
} from "./event-row.ts";
export { decodeLease, encodeLease } from "./lease-row.ts";
export { decodeMark, decodeMemoryTry, encodeMark, encodeMemoryTry } from "./memory-row.ts";
export { decodeOutbox, encodeOutbox } from "./outbox-row.ts";
export {
  decodeSession,
  encodeSession,
  encodeTags,
  sessionColumns,
  shelves,
  type StoredSession,
} from "./session-row.ts";
