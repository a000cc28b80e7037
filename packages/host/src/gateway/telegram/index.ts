export { openTelegram } from "./adapter.ts";
