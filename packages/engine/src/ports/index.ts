export * from "./audit.ts";
export * from "./commit.ts";
export * from "./lease.ts";
export * from "./reads.ts";
export * from "./rows.ts";
export * from "./search.ts";
export * from "./store.ts";
