export { createLogger, type Logger, reportOnly } from "../ops/telemetry/telemetry-logger.ts";
export { objectToOpenFiles } from "../ops/health/process-limits.ts";
export { reportStore } from "../ops/health/store-watch.ts";
export { createMetrics, type Metrics } from "../ops/telemetry/telemetry-metrics.ts";
export { openTelemetry } from "../ops/telemetry/open-telemetry.ts";
