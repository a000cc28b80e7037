export * from "./ids.ts";
export * from "./parts.ts";
export * from "./events/index.ts";
