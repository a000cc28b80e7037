import { monitorEventLoopDelay } from "node:perf_hooks";
import type { CacheFigures, Commit, CommitResult, Store } from "@holdfast/engine";
import {
  decodeEvent,
  type KnownEvent,
  type RunId,
  type Seq,
  terminalStates,
} from "@holdfast/protocol";

/** Metric names, from the GenAI conventions where those have one. */
export const metricNames = {
  runs: "holdfast_runs_total",
  steps: "holdfast_steps_total",
  tokens: "gen_ai_client_token_usage_total",
  cost: "holdfast_cost_dollars_total",
  prefixChanges: "holdfast_prompt_prefix_changes_total",
  requests: "holdfast_prompt_requests_total",
  toolSeconds: "gen_ai_execute_tool_duration_seconds",
  firstDelta: "gen_ai_server_time_to_first_token_seconds",
  stepSeconds: "gen_ai_client_operation_duration_seconds",
  commitSeconds: "holdfast_store_commit_seconds",
  commits: "holdfast_store_commits_total",
  borrows: "holdfast_agents_taken_total",
  evictions: "holdfast_agents_evicted_total",
  agents: "holdfast_agents_kept",
  agentBytes: "holdfast_agents_bytes",
  queued: "holdfast_sessions_queued",
  live: "holdfast_runs_live",
  loopDelay: "holdfast_event_loop_delay_seconds",
  memory: "process_resident_memory_bytes",
  started: "process_start_time_seconds",
} as const;

/** Span attributes. */
const spanAttributes = {
  model: "gen_ai.request.model",
  operation: "gen_ai.operation.name",
  tool: "gen_ai.tool.name",
  conversation: "gen_ai.conversation.id",
} as const;

type Labels = Readonly<Record<string, string>>;

const buckets = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300];
/** A label from a model or a person must not grow the output without bound. */
const maxSeries = 500;

interface Series {
  readonly labels: string;
  value: number;
  readonly counts?: number[];
  count?: number;
}

/** Counters, gauges and histograms in the Prometheus text format. */
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
      for (const entry of series.values()) lines.push(...linesOf(name, entry));
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

/** A finished span. Times are wall-clock, in milliseconds. */
export interface Span {
  readonly name: string;
  readonly startedAt: number;
  readonly endedAt: number;
  readonly attributes: Readonly<Record<string, string | number>>;
}

export interface Metrics {
  /** Receives every commit: all counters follow from these. */
  readonly observe: (commit: Commit, result: CommitResult, ms: number) => void;
  /** Agent figures are read when the metrics are rendered. */
  watchAgents(figures: () => CacheFigures): void;
  render(store: Pick<Store, "work">): Promise<string>;
}

/** Bounds open spans; the oldest is dropped first. */
const maxOpen = 10_000;
const maxWork = 1_000;

export function createMetrics(onSpan: (span: Span) => void = () => undefined): Metrics {
  const registry = declareMetrics();
  const accepted = new Map<RunId, number>();
  const steps = new Map<RunId, { readonly at: number; readonly model: string }>();
  const tools = new Map<string, { readonly at: number; readonly name: string }>();
  let delay: ReturnType<typeof monitorEventLoopDelay> | undefined;
  let agents: (() => CacheFigures) | undefined;

  function count(event: KnownEvent, session: string): void {
    const now = Date.now();
    const { runId } = event;
    const about = { [spanAttributes.conversation]: session };
    switch (event.type) {
      case "input.accepted":
        return remember(accepted, event.data.runId, now);
      case "message.delta": {
        const since = runId === undefined ? undefined : takeFrom(accepted, runId);
        if (since !== undefined) registry.observe(metricNames.firstDelta, (now - since) / 1000);
        return;
      }
      case "run.state":
        if (terminalStates.has(event.data.state))
          registry.add(metricNames.runs, 1, { state: event.data.state });
        return;
      case "step.started":
        registry.add(metricNames.steps, 1, { model: event.data.model });
        if (runId !== undefined) remember(steps, runId, { at: now, model: event.data.model });
        return;
      case "usage.recorded": {
        const { model, input, output, cacheRead = 0, cacheWrite = 0, costMicros = 0 } = event.data;
        const tokens = { input, output, cache_read: cacheRead, cache_write: cacheWrite };
        for (const [type, amount] of Object.entries(tokens))
          registry.add(metricNames.tokens, amount, { model, type });
        registry.add(metricNames.cost, costMicros / 1_000_000, { model });
        return;
      }
      case "message.assistant": {
        const { differs } = event.data.request ?? {};
        if (event.data.request !== undefined) registry.add(metricNames.requests, 1);
        if (differs !== undefined) {
          const explained = differs.explainedBy?.type ?? "nothing";
          registry.add(metricNames.prefixChanges, 1, {
            block: String(Math.min(differs.block, 9)),
            explained,
          });
        }
        const step = runId === undefined ? undefined : takeFrom(steps, runId);
        if (step === undefined) return;
        registry.observe(metricNames.stepSeconds, (now - step.at) / 1000, { model: step.model });
        const attributes = {
          ...about,
          [spanAttributes.model]: step.model,
          [spanAttributes.operation]: "chat",
        };
        return onSpan({
          name: `chat ${step.model}`,
          startedAt: step.at,
          endedAt: now,
          attributes,
        });
      }
      case "tool.started":
        return remember(tools, event.data.callId, { at: now, name: event.data.name });
      case "tool.ended": {
        const tool = takeFrom(tools, event.data.callId);
        if (tool === undefined) return;
        const { outcome } = event.data;
        registry.observe(metricNames.toolSeconds, (now - tool.at) / 1000, {
          tool: tool.name,
          outcome,
        });
        const operation = "execute_tool";
        const did = {
          [spanAttributes.tool]: tool.name,
          [spanAttributes.operation]: operation,
          outcome,
        };
        return onSpan({
          name: `${operation} ${tool.name}`,
          startedAt: tool.at,
          endedAt: now,
          attributes: { ...about, ...did },
        });
      }
      default:
        return;
    }
  }

  return {
    observe({ events, session }, result, ms) {
      registry.add(metricNames.commits, 1, { status: result.status });
      registry.observe(metricNames.commitSeconds, ms / 1000);
      if (result.status !== "committed" || result.repeated === true) return;
      for (const event of events) {
        const decoded = decodeEvent({ ...event, seq: 0 as Seq, at: 0 });
        if (decoded.kind === "known") count(decoded.event, session);
      }
    },
    watchAgents(figures) {
      agents = figures;
    },
    async render(store) {
      if (agents !== undefined) setAgents(registry, agents());
      delay ??= startLoopMonitor();
      registry.set(metricNames.loopDelay, delay.percentile(99) / 1e9, { quantile: "0.99" });
      registry.set(metricNames.loopDelay, delay.mean / 1e9, { quantile: "mean" });
      registry.set(metricNames.memory, process.memoryUsage.rss());
      registry.set(metricNames.started, Math.round(performance.timeOrigin / 1000));
      // An unavailable store has no gauges; the counters remain.
      const [queued, live] = await Promise.all([
        store.work.queued(maxWork).catch(() => undefined),
        store.work.live(maxWork).catch(() => undefined),
      ]);
      if (queued !== undefined) registry.set(metricNames.queued, queued.length);
      if (live !== undefined) registry.set(metricNames.live, live.length);
      return registry.render();
    },
  };
}

function setAgents(registry: MetricRegistry, figures: CacheFigures): void {
  const { hits, folds, builds, evictions, agents, bytes } = figures;
  for (const [how, amount] of Object.entries({ hit: hits, fold: folds, build: builds }))
    registry.set(metricNames.borrows, amount, { how });
  for (const [reason, amount] of Object.entries(evictions))
    registry.set(metricNames.evictions, amount, { reason });
  registry.set(metricNames.agents, agents);
  registry.set(metricNames.agentBytes, bytes);
}

function startLoopMonitor() {
  const delay = monitorEventLoopDelay({ resolution: 20 });
  delay.enable();
  return delay;
}

function remember<K, V>(map: Map<K, V>, key: K, value: V): void {
  map.set(key, value);
  const [oldest] = map.keys();
  if (map.size > maxOpen && oldest !== undefined) map.delete(oldest);
}

function takeFrom<K, V>(map: Map<K, V>, key: K): V | undefined {
  const value = map.get(key);
  map.delete(key);
  return value;
}

function declareMetrics(): MetricRegistry {
  const registry = new MetricRegistry();
  registry.declare(metricNames.runs, "counter", "Runs that ended, by how they did.");
  registry.declare(metricNames.steps, "counter", "Model calls that were begun.");
  registry.declare(
    metricNames.tokens,
    "counter",
    "Tokens, by model and kind; cache_read over input is the share that a provider's cache took.",
  );
  registry.declare(
    metricNames.cost,
    "counter",
    "What models cost, in dollars, where a price is known.",
  );
  registry.declare(
    metricNames.requests,
    "counter",
    "Requests to models whose prefix was compared with the one before.",
  );
  registry.declare(
    metricNames.prefixChanges,
    "counter",
    "Those whose prefix changed, by the first block that differs and what explains it.",
  );
  registry.declare(metricNames.toolSeconds, "histogram", "How long tools took.");
  registry.declare(
    metricNames.stepSeconds,
    "histogram",
    "How long model calls took, up to their settled answer.",
  );
  registry.declare(
    metricNames.firstDelta,
    "histogram",
    "From the acceptance of a message to the first word of its answer.",
  );
  registry.declare(metricNames.commits, "counter", "Commits, by how the store answered.");
  registry.declare(metricNames.commitSeconds, "histogram", "How long the store took for a commit.");
  registry.declare(
    metricNames.queued,
    "gauge",
    "Sessions with a message that waits for a runner, up to 1000.",
  );
  registry.declare(
    metricNames.live,
    "gauge",
    "Runs that are under way in the whole store, up to 1000.",
  );
  registry.declare(
    metricNames.borrows,
    "counter",
    "Warm agents that were taken: as they were, with what others wrote folded in, or built anew.",
  );
  registry.declare(metricNames.evictions, "counter", "Warm agents that were let go of, and why.");
  registry.declare(metricNames.agents, "gauge", "Warm agents that are kept.");
  registry.declare(metricNames.agentBytes, "gauge", "About how much memory they take up.");
  registry.declare(metricNames.loopDelay, "gauge", "How late the event loop is.");
  registry.declare(metricNames.memory, "gauge", "Memory of this process.");
  registry.declare(metricNames.started, "gauge", "When this process was started.");
  return registry;
}
