export { isLoopback, isWildcard } from "./address.ts";
export { createApp } from "./app.ts";
export { listen } from "./listen.ts";
export { loadPage } from "./page.ts";
