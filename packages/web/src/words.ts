export { words } from "./strings/strings.ts";
