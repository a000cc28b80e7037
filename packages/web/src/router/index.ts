export { linkTo } from "./link-to.ts";
export { addressOf, settingsSections, type SettingsSection } from "./places.ts";
export { createRouter, type Router } from "./router.ts";
