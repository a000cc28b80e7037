export { GroupWriter, type Outcome } from "./group-writer.ts";
export type { Operation, Operations } from "./operations.ts";
