import { monitorEventLoopDelay } from "node:perf_hooks";
import type { CacheFigures, Commit, CommitResult, Store } from "@holdfast/engine";
import { MetricRegistry } from "./metric-registry.ts";
import { genAi, type MetricKey, metricTable } from "./metric-table.ts";
import {
  decodeEvent,
  type KnownEvent,
  type RunId,
  type Seq,
  terminalStates,
} from "@holdfast/protocol";

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
  /** Agent figures are read together with the metrics. */
  watchAgents(figures: () => CacheFigures): void;
  readonly registry: MetricRegistry<MetricKey>;
  /** Sets the metrics that are not counted as events happen. */
  readonly refresh: (store: Pick<Store, "work">) => Promise<void>;
  render(store: Pick<Store, "work">): Promise<string>;
}

/** Bounds open spans; the oldest is dropped first. */
const maxOpen = 10_000;
const maxWork = 1_000;

export function createMetrics(onSpan: (span: Span) => void = () => undefined): Metrics {
  const registry = new MetricRegistry(metricTable);
  const accepted = new Map<RunId, number>();
  const steps = new Map<RunId, { readonly at: number; readonly model: string }>();
  const tools = new Map<string, { readonly at: number; readonly name: string }>();
  let delay: ReturnType<typeof monitorEventLoopDelay> | undefined;
  let agents: (() => CacheFigures) | undefined;

  function count(event: KnownEvent, session: string): void {
    const now = Date.now();
    const { runId } = event;
    const about = { [genAi.conversation]: session };
    switch (event.type) {
      case "input.accepted":
        return remember(accepted, event.data.runId, now);
      case "message.delta": {
        const since = runId === undefined ? undefined : takeFrom(accepted, runId);
        if (since !== undefined) registry.observe("firstDelta", (now - since) / 1000);
        return;
      }
      case "run.state":
        if (terminalStates.has(event.data.state))
          registry.add("runs", 1, { state: event.data.state });
        return;
      case "step.started":
        registry.add("steps", 1, { model: event.data.model });
        if (runId !== undefined) remember(steps, runId, { at: now, model: event.data.model });
        return;
      case "usage.recorded": {
        const { model, input, output, cacheRead = 0, cacheWrite = 0, costMicros = 0 } = event.data;
        const tokens = { input, output, cache_read: cacheRead, cache_write: cacheWrite };
        for (const [type, amount] of Object.entries(tokens))
          registry.add("tokens", amount, { model, type });
        registry.add("cost", costMicros / 1_000_000, { model });
        return;
      }
      case "message.assistant": {
        const { differs } = event.data.request ?? {};
        if (event.data.request !== undefined) registry.add("requests", 1);
        if (differs !== undefined) {
          const explained = differs.explainedBy?.type ?? "nothing";
          registry.add("prefixChanges", 1, {
            block: String(Math.min(differs.block, 9)),
            explained,
          });
        }
        const step = runId === undefined ? undefined : takeFrom(steps, runId);
        if (step === undefined) return;
        registry.observe("stepSeconds", (now - step.at) / 1000, { model: step.model });
        const attributes = {
          ...about,
          [genAi.model]: step.model,
          [genAi.operation]: "chat",
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
        registry.observe("toolSeconds", (now - tool.at) / 1000, {
          tool: tool.name,
          outcome,
        });
        const operation = "execute_tool";
        const did = {
          [genAi.tool]: tool.name,
          [genAi.operation]: operation,
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

  async function refresh(store: Pick<Store, "work">): Promise<void> {
    if (agents !== undefined) setAgents(registry, agents());
    delay ??= startLoopMonitor();
    registry.set("loopDelay", delay.percentile(99) / 1e9, { quantile: "0.99" });
    registry.set("loopDelay", delay.mean / 1e9, { quantile: "mean" });
    registry.set("memory", process.memoryUsage.rss());
    registry.set("started", Math.round(performance.timeOrigin / 1000));
    // An unavailable store has no gauges; the counters remain.
    const [queued, live] = await Promise.all([
      store.work.queued(maxWork).catch(() => undefined),
      store.work.live(maxWork).catch(() => undefined),
    ]);
    if (queued !== undefined) registry.set("queued", queued.length);
    if (live !== undefined) registry.set("live", live.length);
  }

  return {
    observe({ events, session }, result, ms) {
      registry.add("commits", 1, { status: result.status });
      registry.observe("commitSeconds", ms / 1000);
      if (result.status !== "committed" || result.repeated === true) return;
      for (const event of events) {
        const decoded = decodeEvent({ ...event, seq: 0 as Seq, at: 0 });
        if (decoded.kind === "known") count(decoded.event, session);
      }
    },
    watchAgents(figures) {
      agents = figures;
    },
    registry,
    refresh,
    async render(store) {
      await refresh(store);
      return registry.render();
    },
  };
}

function setAgents(registry: MetricRegistry<MetricKey>, figures: CacheFigures): void {
  const { hits, folds, builds, evictions, agents, bytes } = figures;
  for (const [how, amount] of Object.entries({ hit: hits, fold: folds, build: builds }))
    registry.set("borrows", amount, { how });
  for (const [reason, amount] of Object.entries(evictions))
    registry.set("evictions", amount, { reason });
  registry.set("agents", agents);
  registry.set("agentBytes", bytes);
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
