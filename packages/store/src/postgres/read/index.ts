export { createAuditReads } from "./audit.ts";
export { Readers } from "./readers.ts";
export { createReads } from "./reads.ts";
