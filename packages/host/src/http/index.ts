export { isWildcard } from "./address.ts";
export { answerWhole, beginAnswer } from "./answer.ts";
export { createApp, type Health } from "./app.ts";
export { endedEarly } from "./limit-body.ts";
export { loadPage, type Page } from "./page.ts";
export { listen, type ListenOptions } from "./listen.ts";
export { refuse } from "./problem.ts";
export type { HostEnv, Route } from "./route.ts";
export { createStrangers, type Strangers } from "./strangers.ts";
