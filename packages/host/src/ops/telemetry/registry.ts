type Labels = Readonly<Record<string, string>>;

const buckets = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300];
/** A label that comes from a model or a person must not make the page grow without end. */
const maxSeries = 500;

interface Series {
  readonly labels: string;
  value: number;
  readonly counts?: number[];
  count?: number;
}

/** Counters, gauges and histograms, written as Prometheus reads them. */
export class MetricRegistry {
  readonly #metrics = new Map<
    string,
    { type: string; help: string; series: Map<string, Series> }
  >();

  declare(name: string, type: "counter" | "gauge" | "histogram", help: string): void {
    this.#metrics.set(name, { type, help, series: new Map() });
  }

  add(name: string, amount: number, labels: Labels = {}): void {
    const series = this.#series(name, labels);
    if (series !== undefined) series.value += amount;
  }

  set(name: string, value: number, labels: Labels = {}): void {
    const series = this.#series(name, labels);
    if (series !== undefined) series.value = value;
  }

  observe(name: string, seconds: number, labels: Labels = {}): void {
    const series = this.#series(name, labels);
    if (series?.counts === undefined || !Number.isFinite(seconds)) return;
    series.value += seconds;
    series.count = (series.count ?? 0) + 1;
    for (const [index, bound] of buckets.entries())
      if (seconds <= bound) series.counts[index] = (series.counts[index] ?? 0) + 1;
  }

  render(): string {
    const lines: string[] = [];
    for (const [name, { type, help, series }] of this.#metrics) {
      lines.push(`# HELP ${name} ${help}`, `# TYPE ${name} ${type}`);
      for (const each of series.values()) lines.push(...linesOf(name, each));
    }
    return `${lines.join("\n")}\n`;
  }

  #series(name: string, labels: Labels): Series | undefined {
    const metric = this.#metrics.get(name);
    if (metric === undefined) throw new Error(`Nothing is measured under ${name}.`);
    const key = writeLabels(labels);
    const found = metric.series.get(key);
    if (found !== undefined || metric.series.size >= maxSeries) return found;
    const isHistogram = metric.type === "histogram";
    const made: Series = {
      labels: key,
      value: 0,
      ...(isHistogram && { counts: buckets.map(() => 0), count: 0 }),
    };
    metric.series.set(key, made);
    return made;
  }
}

function linesOf(name: string, { labels, value, counts, count = 0 }: Series): string[] {
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

function writeLabels(labels: Labels): string {
  return Object.entries(labels)
    .map(([name, value]) => `${name}="${value.slice(0, 100).replaceAll(/[\\"\n]/g, "_")}"`)
    .join(",");
}
