export { isLoopback, isWildcard } from "./address.ts";
export { createApp, type Health } from "./app.ts";
export { endedEarly } from "./limit-body.ts";
export { listen } from "./listen.ts";
export { loadPage, type Page } from "./page.ts";
export { refuse } from "./problem.ts";
export type { HostEnv, Route } from "./route.ts";
