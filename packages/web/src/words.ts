export { strings } from "./strings/strings.ts";
