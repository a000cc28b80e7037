export { type ApiRig, openApi } from "./api-rig.ts";
