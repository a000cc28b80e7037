export { ProcessDesk } from "./desk.ts";
export type { Process } from "./kept-processes.ts";
export { createProcesses } from "./tool.ts";
export { isProcessLane } from "./turns-in-a-row.ts";
export { createProcessWatch } from "./watch.ts";
export { endInWords } from "./words.ts";
