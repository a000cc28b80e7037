export { Markdown } from "./markdown.tsx";
export { plainOutput, revealUnseen } from "./safe-text.ts";
