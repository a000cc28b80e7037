export { openLine } from "./open-line.ts";
