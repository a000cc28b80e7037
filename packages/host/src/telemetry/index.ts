export { createLogger, type Logger, reportOnly } from "./logger.ts";
export { objectToOpenFiles } from "./open-files.ts";
export { reportStore } from "./store-watch.ts";
export { createMetrics, type Metrics } from "./metrics.ts";
export { openTelemetry } from "./open-telemetry.ts";
