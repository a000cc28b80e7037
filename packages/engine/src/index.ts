export * from "./ports/index.ts";
export * from "./log/index.ts";
export * from "./agents/index.ts";
export * from "./context/index.ts";
export * from "./fsck/index.ts";
export * from "./memory/index.ts";
export * from "./run/index.ts";
export * from "./history/index.ts";
