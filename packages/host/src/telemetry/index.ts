export { createLogger, type Logger, reportOnly } from "./logger.ts";
export { objectToOpenFiles } from "./open-files.ts";
export { reportStore } from "./store-watch.ts";
