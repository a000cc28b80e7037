export type Labels = Readonly<Record<string, string>>;

export interface MetricInfo {
  readonly name: string;
  readonly type: "counter" | "gauge" | "histogram";
  readonly help: string;
  /** In UCUM notation. */
  readonly unit: string;
  /** Set if a collector expects another name or more attributes. */
  readonly collector?: { readonly name?: string; readonly attributes: Labels };
}

/** The upper bounds of a histogram's buckets, in seconds. */
export const buckets = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300];
/** A label from a model or a person must not grow the output without bound. */
const maxSeries = 500;
const maxLabelLength = 100;

interface Series {
  readonly labels: Labels;
  value: number;
  readonly counts?: number[];
  count?: number;
}

type Metric = MetricInfo & { readonly series: Map<string, Series> };
export type HistogramListener = (metric: MetricInfo, seconds: number, labels: Labels) => void;

/** The host's metrics: counters, gauges and histograms, each described once. */
export class MetricRegistry<Key extends string> {
  readonly #metrics: ReadonlyMap<Key, Metric>;
  #onObserve: HistogramListener | undefined;

  constructor(table: Readonly<Record<Key, MetricInfo>>) {
    const entries = Object.entries<MetricInfo>(table) as [Key, MetricInfo][];
    this.#metrics = new Map(entries.map(([key, info]) => [key, { ...info, series: new Map() }]));
  }

  add(key: Key, amount: number, labels: Labels = {}): void {
    const series = this.#series(key, labels);
    if (series !== undefined) series.value += amount;
  }

  set(key: Key, value: number, labels: Labels = {}): void {
    const series = this.#series(key, labels);
    if (series !== undefined) series.value = value;
  }

  observe(key: Key, seconds: number, labels: Labels = {}): void {
    const metric = this.#metrics.get(key);
    const series = this.#series(key, labels);
    if (series?.counts === undefined || metric === undefined || !Number.isFinite(seconds)) return;
    series.value += seconds;
    series.count = (series.count ?? 0) + 1;
    for (const [index, bound] of buckets.entries())
      if (seconds <= bound) series.counts[index] = (series.counts[index] ?? 0) + 1;
    this.#onObserve?.(metric, seconds, series.labels);
  }

  /** Passes every histogram value to the listener, since others can't use our buckets. */
  onObserve(listener: HistogramListener): void {
    this.#onObserve = listener;
  }

  metrics(): Iterable<MetricInfo & { readonly series: Iterable<Readonly<Series>> }> {
    return [...this.#metrics.values()].map((metric) => ({
      ...metric,
      series: metric.series.values(),
    }));
  }

  /** In the Prometheus text format. */
  render(): string {
    const lines: string[] = [];
    for (const { name, type, help, series } of this.#metrics.values()) {
      lines.push(`# HELP ${name} ${help}`, `# TYPE ${name} ${type}`);
      for (const [labels, entry] of series) lines.push(...linesOf(name, labels, entry));
    }
    return `${lines.join("\n")}\n`;
  }

  #series(key: Key, labels: Labels): Series | undefined {
    const metric = this.#metrics.get(key);
    if (metric === undefined) throw new Error(`There is no metric ${key}.`);
    const safe = safeLabels(labels);
    const written = writeLabels(safe);
    const found = metric.series.get(written);
    if (found !== undefined || metric.series.size >= maxSeries) return found;
    const isHistogram = metric.type === "histogram";
    const made: Series = {
      labels: safe,
      value: 0,
      ...(isHistogram && { counts: buckets.map(() => 0), count: 0 }),
    };
    metric.series.set(written, made);
    return made;
  }
}

function linesOf(name: string, labels: string, { value, counts, count = 0 }: Series): string[] {
  const inBraces = (text: string): string => (text === "" ? "" : `{${text}}`);
  if (counts === undefined) return [`${name}${inBraces(labels)} ${value}`];
  const comma = labels === "" ? "" : `${labels},`;
  return [
    ...buckets.map((bound, index) => `${name}_bucket{${comma}le="${bound}"} ${counts[index] ?? 0}`),
    `${name}_bucket{${comma}le="+Inf"} ${count}`,
    `${name}_sum${inBraces(labels)} ${value}`,
    `${name}_count${inBraces(labels)} ${count}`,
  ];
}

function safeLabels(labels: Labels): Labels {
  const entries = Object.entries(labels).map(([name, value]) => [
    name,
    value.slice(0, maxLabelLength).replaceAll(/[\\"\n]/g, "_"),
  ]);
  return Object.fromEntries(entries) as Labels;
}

function writeLabels(labels: Labels): string {
  return Object.entries(labels)
    .map(([name, value]) => `${name}="${value}"`)
    .join(",");
}
