import { systemClock } from "@holdfast/engine";
import { withTimeout } from "@holdfast/protocol";
import { type Span, metricNames } from "./metrics.ts";

/** Exports spans and durations to the operator's collector. */
export interface Telemetry {
  readonly exportSpan: (span: Span) => void;
  close(): Promise<void>;
}

type Environment = Readonly<Record<string, string | undefined>>;

const service = "holdfast";
const closeMs = 3_000;

/** Loaded only if `OTEL_EXPORTER_OTLP_ENDPOINT` is set; the operator configures its address and headers. */
export async function openTelemetry(
  environment: Environment,
  report: (bug: Error) => void,
): Promise<Telemetry | undefined> {
  const endpoint = environment["OTEL_EXPORTER_OTLP_ENDPOINT"];
  if (endpoint === undefined || endpoint === "") return undefined;
  try {
    return await load();
  } catch (error) {
    // A host without telemetry still works.
    report(error instanceof Error ? error : new Error(String(error)));
    return undefined;
  }
}

async function load(): Promise<Telemetry> {
  const [{ TracerProvider, BatchSpanProcessor }, { OTLPTraceExporter }, sdk, otlp] =
    await Promise.all([
      import("@opentelemetry/sdk-trace"),
      import("@opentelemetry/exporter-trace-otlp-http"),
      import("@opentelemetry/sdk-metrics"),
      import("@opentelemetry/exporter-metrics-otlp-http"),
    ]);
  const traces = new TracerProvider({
    spanProcessors: [new BatchSpanProcessor({ exporter: new OTLPTraceExporter() })],
  });
  const reader = new sdk.PeriodicExportingMetricReader({ exporter: new otlp.OTLPMetricExporter() });
  const meters = new sdk.MeterProvider({ readers: [reader] });
  const tracer = traces.getTracer(service);
  const lasted = meters.getMeter(service).createHistogram(metricNames.stepSeconds, { unit: "s" });
  return {
    exportSpan({ name, startedAt, endedAt, attributes }) {
      tracer.startSpan(name, { startTime: startedAt, attributes }).end(endedAt);
      const { "gen_ai.conversation.id": _, ...counted } = attributes;
      lasted.record((endedAt - startedAt) / 1000, counted);
    },
    async close() {
      await withTimeout({ clock: systemClock, ms: closeMs }, () =>
        Promise.allSettled([traces.shutdown(), meters.shutdown()]),
      );
    },
  };
}
