export { words } from "./words/index.ts";
