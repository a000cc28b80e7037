export { type ApiRig, openApi } from "./api-rig.ts";
export * from "./api-words.ts";
