export * from "./ids.ts";
export * from "./parts.ts";
export * from "./events/index.ts";
export * from "./plain-text.ts";
export * from "./problems.ts";
export * from "./http/index.ts";
export * from "./reducer/index.ts";
