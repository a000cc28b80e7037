export { type ApiRig, openApi } from "./api-rig.ts";
export * from "./api-words.ts";
export { serveOpenViking } from "./openviking-server.ts";
