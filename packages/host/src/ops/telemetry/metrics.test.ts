import { once } from "node:events";
import { createServer } from "node:http";
import { createLog, type Store } from "@holdfast/engine";
import { ids, newEvent, ownerId } from "@holdfast/protocol";
import { createReferenceStore } from "@holdfast/testing/reference-store/store";
import { expect, onTestFinished, test, vi } from "vitest";

import { MetricRegistry } from "./metric-registry.ts";
import { metricTable } from "./metric-table.ts";
import { createMetrics } from "./metrics.ts";
import { openTelemetry } from "./open-telemetry.ts";

const owner = ownerId.parse("owner");

/** One turn with a tool, as a runner writes it. */
async function turnOn(store: Store, observe: Parameters<typeof createLog>[1]) {
  const log = createLog(store, observe);
  const { session } = await log.createSession({ owner });
  const runId = ids.make("run");
  const callId = ids.make("call");
  const messageId = ids.make("message");
  const usage = { model: "m", input: 100, output: 7, cacheRead: 80, costMicros: 2_500_000 };
  const output = "";
  const parts = [{ type: "text" as const, text: "said" }];
  const differs = { block: 3, explainedBy: { seq: 1, type: "context.framed" } };
  const request = { from: 3, hashes: ["h"], differs };
  const event = <T extends Parameters<typeof newEvent>[1]>(
    type: T,
    data: Parameters<typeof newEvent<T>>[2],
  ) => newEvent(ids.make("event"), type, data, runId);
  const result = await log.commit({
    owner,
    session,
    events: [
      event("run.state", { state: "claimed" }),
      event("step.started", { step: 1, model: "m" }),
      event("usage.recorded", usage),
      event("tool.started", {
        callId,
        resultId: messageId,
        name: "terminal",
        input: {},
        replay: "never",
      }),
      event("tool.ended", { callId, resultId: messageId, outcome: "ok", output }),
      event("message.assistant", { messageId: ids.make("message"), parts, request } as never),
      event("run.state", { state: "completed" }),
    ],
  });
  expect(result).toMatchObject({ status: "committed" });
}

function open() {
  const store = createReferenceStore();
  onTestFinished(() => store.close());
  return store;
}

test("a commit that is repeated counts its events once", async () => {
  const store = open();
  const metrics = createMetrics();
  const log = createLog(store, { observe: metrics.observe });
  const { session } = await log.createSession({ owner });
  const usage = { model: "m", input: 100, output: 7 };
  const events = [newEvent(ids.make("event"), "usage.recorded", usage)];
  await log.commit({ owner, session, events });
  expect(await log.commit({ owner, session, events })).toMatchObject({ repeated: true });
  expect(await metrics.render(store)).toContain(
    'gen_ai_client_token_usage_total{model="m",type="input"} 100\n',
  );
});

test("a turn is counted: runs, steps, tokens, cost, prefix, tools and commits", async () => {
  const store = open();
  const metrics = createMetrics();
  await turnOn(store, { observe: metrics.observe });
  const text = await metrics.render(store);
  for (const line of [
    'holdfast_runs_total{state="completed"} 1',
    'holdfast_steps_total{model="m"} 1',
    'gen_ai_client_token_usage_total{model="m",type="cache_read"} 80',
    'holdfast_cost_dollars_total{model="m"} 2.5',
    'holdfast_prompt_prefix_changes_total{block="3",explained="context.framed"} 1',
    'gen_ai_execute_tool_duration_seconds_count{tool="terminal",outcome="ok"} 1',
    'holdfast_store_commits_total{status="committed"} 2',
    "holdfast_sessions_queued 0",
  ])
    expect(text).toContain(`${line}\n`);
});

test("an untrusted label neither breaks a line nor grows the output without bound", () => {
  const x = { name: "x_total", type: "counter", help: "x", unit: "{x}" } as const;
  const registry = new MetricRegistry({ x });
  registry.add("x", 1, { name: 'a"b\nc\\' });
  for (let index = 0; index < 2_000; index += 1) registry.add("x", 1, { name: `n${index}` });
  const lines = registry.render().trimEnd().split("\n");
  expect(lines[2]).toBe('x_total{name="a_b_c_"} 1');
  expect(lines).toHaveLength(2 + 500);
});

/** A collector, and the environment variables that point to it. */
async function openCollector() {
  const bodies = new Map<string, string>();
  const collector = createServer((request, response) => {
    let body = "";
    request.setEncoding("latin1").on("data", (piece: string) => (body += piece));
    request.on("end", () => {
      bodies.set(request.url ?? "", body);
      response.writeHead(200, { "content-type": "application/json" }).end("{}");
    });
  });
  collector.listen(0, "127.0.0.1");
  await once(collector, "listening");
  const address = collector.address();
  const port = typeof address === "object" ? address?.port : 0;
  onTestFinished(() => void collector.close());
  vi.stubEnv("OTEL_EXPORTER_OTLP_ENDPOINT", `http://127.0.0.1:${port}`);
  onTestFinished(() => void vi.unstubAllEnvs());
  return bodies;
}

test("without a collector nothing is loaded, and with one spans arrive under their GenAI names", async () => {
  expect(await openTelemetry({}, () => undefined)).toBeUndefined();
  const bodies = await openCollector();
  const bugs: Error[] = [];
  const telemetry = await openTelemetry(process.env, (bug) => void bugs.push(bug));
  const store = open();
  const metrics = createMetrics(telemetry?.exportSpan);
  telemetry?.exportMetrics(metrics, store);
  await turnOn(store, { observe: metrics.observe });
  await telemetry?.close();
  expect(bugs).toEqual([]);
  const spans = bodies.get("/v1/traces") ?? "";
  expect(spans).toContain("execute_tool terminal");
  expect(spans).toContain("gen_ai.request.model");
  expect(bodies.get("/v1/metrics") ?? "").toContain("gen_ai_client_operation_duration_seconds");
});

test("a collector receives every value that GET /metrics shows", async () => {
  const bodies = await openCollector();
  const telemetry = await openTelemetry(process.env, (bug) => expect.unreachable(bug.message));
  const store = open();
  const metrics = createMetrics();
  telemetry?.exportMetrics(metrics, store);
  metrics.watchAgents(() => ({
    hits: 7,
    folds: 2,
    builds: 3,
    evictions: { idle: 1 },
    agents: 2,
    bytes: 64,
  }));
  await turnOn(store, { observe: metrics.observe });
  await telemetry?.close();
  const sent = readMetrics(bodies.get("/v1/metrics") ?? "");
  // Nothing was streamed, and tools are among the operations.
  const { firstDelta, toolSeconds, ...expected } = metricTable;
  expect([...sent.keys()].toSorted()).toEqual(
    Object.values(expected)
      .map(({ name }) => name)
      .toSorted(),
  );
  expect(sent.has(firstDelta.name) || sent.has(toolSeconds.name)).toBe(false);
  expect(sent.get("holdfast_runs_total")).toEqual(['{"state":"completed"} 1']);
  expect(sent.get("gen_ai_client_token_usage_total")).toContain(
    '{"gen_ai.request.model":"m","gen_ai.token.type":"cache_read"} 80',
  );
  expect(sent.get("holdfast_cost_dollars_total")).toEqual(['{"gen_ai.request.model":"m"} 2.5']);
  expect(sent.get("holdfast_agents_taken_total")).toContain('{"how":"hit"} 7');
  expect(sent.get("holdfast_sessions_queued")).toEqual(["{} 0"]);
  expect(sent.get("holdfast_store_commit_seconds")).toEqual(["{} 2"]);
  expect(sent.get("gen_ai_client_operation_duration_seconds")?.toSorted()).toEqual([
    '{"gen_ai.operation.name":"chat","gen_ai.request.model":"m"} 1',
    '{"gen_ai.operation.name":"execute_tool","gen_ai.tool.name":"terminal","outcome":"ok"} 1',
  ]);
});

interface Point {
  readonly attributes: readonly { key: string; value: { stringValue: string } }[];
  readonly asInt?: number;
  readonly asDouble?: number;
  readonly count?: number;
}

interface SentMetrics {
  readonly resourceMetrics: readonly {
    readonly scopeMetrics: readonly {
      readonly metrics: readonly ({ readonly name: string } & Readonly<
        Partial<Record<"sum" | "gauge" | "histogram", { readonly dataPoints: readonly Point[] }>>
      >)[];
    }[];
  }[];
}

/** By name, each series with its value; for a histogram, the number of values. */
function readMetrics(body: string): ReadonlyMap<string, readonly string[]> {
  const { resourceMetrics } = JSON.parse(body) as SentMetrics;
  const metrics = resourceMetrics.flatMap(({ scopeMetrics }) =>
    scopeMetrics.flatMap((scope) => scope.metrics),
  );
  return new Map(
    metrics.map(({ name, sum, gauge, histogram }) => [
      name,
      ((sum ?? gauge ?? histogram)?.dataPoints ?? []).map((point) => {
        const labels = point.attributes.map(({ key, value }) => [key, value.stringValue]);
        const value = point.count ?? point.asInt ?? point.asDouble;
        return `${JSON.stringify(Object.fromEntries(labels))} ${value}`;
      }),
    ]),
  );
}

test("cache metrics show what warm agents did and why they were evicted", async () => {
  const metrics = createMetrics();
  metrics.watchAgents(() => ({
    hits: 7,
    folds: 2,
    builds: 3,
    evictions: { idle: 1 },
    agents: 2,
    bytes: 64,
  }));
  const lines = (await metrics.render(open())).split("\n");
  expect(lines).toEqual(
    expect.arrayContaining([
      'holdfast_agents_taken_total{how="hit"} 7',
      'holdfast_agents_taken_total{how="build"} 3',
      'holdfast_agents_evicted_total{reason="idle"} 1',
      "holdfast_agents_kept 2",
    ]),
  );
});
