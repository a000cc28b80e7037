export { ProcessDesk } from "./desk.ts";
export type { Process } from "./kept-processes.ts";
export { createProcesses } from "./tool.ts";
export { createProcessWatch, isProcessLane } from "./watch.ts";
export { endInWords } from "./words.ts";
