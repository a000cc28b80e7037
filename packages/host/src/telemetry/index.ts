export { createLogger, type Logger, reportOnly } from "../ops/telemetry/telemetry-logger.ts";
export { fileLimitWarning } from "../ops/health/process-limits.ts";
export { createOutageReporter } from "../ops/health/store-watch.ts";
export { createMetrics, type Metrics } from "../ops/telemetry/telemetry-metrics.ts";
export { openTelemetry } from "../ops/telemetry/open-telemetry.ts";
