import { withTimeout } from "@holdfast/protocol";
import { type Store, systemClock } from "@holdfast/engine";
import type { Attributes, Histogram, Meter, Observable } from "@opentelemetry/api";
import { buckets, type Labels, type MetricInfo } from "./metric-registry.ts";
import { genAi } from "./metric-table.ts";
import type { Metrics, Span } from "./metrics.ts";

/** Exports spans and metrics to the operator's collector. */
export interface Telemetry {
  readonly exportSpan: (span: Span) => void;
  /** Sends the same values that `GET /metrics` shows. */
  exportMetrics(metrics: Metrics, store: Pick<Store, "work">): void;
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
  return {
    exportSpan({ name, startedAt, endedAt, attributes }) {
      tracer.startSpan(name, { startTime: startedAt, attributes }).end(endedAt);
    },
    exportMetrics: (metrics, store) => exportMetrics(meters.getMeter(service), metrics, store),
    async close() {
      await withTimeout({ clock: systemClock, ms: closeMs }, () =>
        Promise.allSettled([traces.shutdown(), meters.shutdown()]),
      );
    },
  };
}

/** Counters and gauges are read from the registry on export; histograms receive each value. */
function exportMetrics(meter: Meter, { registry, refresh }: Metrics, store: Pick<Store, "work">) {
  const observables = new Map<string, Observable>();
  const histograms = new Map<string, Histogram>();
  for (const metric of registry.metrics()) {
    const { type, help: description, unit } = metric;
    const name = collectorName(metric);
    const options = { description, unit };
    if (type === "counter") observables.set(name, meter.createObservableCounter(name, options));
    else if (type === "gauge") observables.set(name, meter.createObservableGauge(name, options));
    else if (!histograms.has(name)) {
      const advice = { explicitBucketBoundaries: buckets };
      histograms.set(name, meter.createHistogram(name, { ...options, advice }));
    }
  }
  registry.onObserve((metric, seconds, labels) =>
    histograms.get(collectorName(metric))?.record(seconds, attributesOf(metric, labels)),
  );
  meter.addBatchObservableCallback(
    async (result) => {
      await refresh(store);
      for (const metric of registry.metrics()) {
        const observable = observables.get(collectorName(metric));
        if (observable === undefined) continue;
        for (const { value, labels } of metric.series)
          result.observe(observable, value, attributesOf(metric, labels));
      }
    },
    [...observables.values()],
  );
}

function collectorName({ name, collector }: MetricInfo): string {
  return collector?.name ?? name;
}

const attributeNames: Readonly<Record<string, string>> = {
  model: genAi.model,
  tool: genAi.tool,
  type: genAi.tokenType,
};

function attributesOf({ collector }: MetricInfo, labels: Labels): Attributes {
  const named = Object.entries(labels).map(([label, value]) => [
    attributeNames[label] ?? label,
    value,
  ]);
  return { ...collector?.attributes, ...(Object.fromEntries(named) as Labels) };
}
