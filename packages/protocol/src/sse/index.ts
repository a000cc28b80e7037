export * from "./frames.ts";
export * from "./cursors.ts";
export * from "./stream.ts";
