export type { Config } from "./config/index.ts";
export type { Failure, Outcome } from "./failure.ts";
export { type RunningHost, startHost } from "./host.ts";
export { version } from "./version.ts";
