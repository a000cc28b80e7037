export type { Config } from "./ops/config/settings.ts";
export type { Failure, Outcome } from "./util/outcome.ts";
export { type RunningHost, startHost } from "./app.ts";
export { version } from "./util/version.ts";
