import { basename } from "node:path";
import { afterAll, beforeAll, beforeEach, expect, onTestFinished, test } from "vitest";

import { requirePage } from "../e2e/page/require-page.ts";
import { startProcess } from "@holdfast/testing/process/start-process";
import { makeFolder, settingsFor } from "../e2e/served-host.ts";
import { fieldFacts, schemaFacts } from "./facts.ts";
import { fileFacts, filesBelow } from "./files.ts";
import { blocksOf, frameFacts } from "./frames.ts";
import { openReceiver } from "./receiver.ts";
import { sqliteFacts } from "./sqlite.ts";
import { expectSurface } from "./surface.ts";
import { observeHost, type ObservedHost, persona } from "./used-host.ts";

beforeEach(requirePage);

let host: ObservedHost;
const ends: (() => void | Promise<void>)[] = [];
beforeAll(async () => {
  host = await observeHost((end) => void ends.unshift(end));
});
afterAll(async () => {
  for (const end of ends) await end();
});

test("metrics keep their names, types and labels", () => {
  const facts = host.metrics.split("\n").flatMap((line) => {
    const [, name, type] = /^# TYPE (\S+) (\S+)$/.exec(line) ?? [];
    if (name !== undefined) return [`${name}: ${type}`];
    const [, series = "", labels = ""] = /^([^#{ ]+)\{(.*)\} /.exec(line) ?? [];
    return [...labels.matchAll(/(\w+)="/g)].map(([, label]) => `${series}{${label}}`);
  });
  expectSurface("metrics", facts);
});

test("event streams of a running host keep their frames", () => {
  const facts = Object.entries(host.streams).flatMap(([name, text]) =>
    blocksOf(text)
      // Whether there is a heartbeat depends on timing.
      .filter(([line]) => line?.startsWith(":") === false)
      .flatMap((block) => frameFacts(name, block)),
  );
  expectSurface("streams", facts);
});

test("tools keep their names and inputs", () => {
  const tools = host.frame.tools as readonly { readonly name: string; readonly input: unknown }[];
  expectSurface(
    "tools",
    tools.flatMap(({ name, input }) => schemaFacts(name, input)),
  );
});

test("files in the home keep their names and fields", () => {
  expect(host.frame.system).toContain(persona);
  expectSurface("home", [...host.running, ...fileFacts(host.home)]);
});

test("SQLite files keep their tables, columns and indexes", () => {
  const files = filesBelow(host.home).filter((file) => /\.db(?:\.\w+)?$/.test(basename(file)));
  expectSurface("sqlite", files.flatMap(sqliteFacts));
});

test("the host reads the same environment variables", () => {
  const own = /^HOLDFAST_|^OTEL_|_API_KEY$/;
  expectSurface(
    "environment",
    host.variables.filter((name) => own.test(name)),
  );
});

test("webhooks and calls to a bot platform keep their fields", () => {
  const posted = Object.entries(host.posted).flatMap(([name, { headers, body }]) => [
    ...headers
      .filter((header) => header.startsWith("webhook-"))
      .map((header) => `${name} ${header}`),
    ...fieldFacts(`${name} body`, body),
  ]);
  const bot = host.botCalls.flatMap(({ method, payload }) => {
    const { commands = [], url = "" } = payload as {
      commands?: { command: string }[];
      url?: string;
    };
    return [
      `bot ${method}`,
      ...commands.map(({ command }) => `bot command /${command}`),
      ...(url === "" ? [] : [`bot hook ${new URL(url).pathname}`]),
    ];
  });
  expectSurface("webhooks", [...posted, ...bot]);
});

test("health and exported sessions keep their fields", () => {
  const { format, version } = host.document as { format: string; version: number };
  // The input of tool calls comes from this test.
  const fields = fieldFacts("session", host.document).filter((field) => !field.includes(".input."));
  expectSurface("documents", [
    `session format ${format} ${version}`,
    ...fields,
    ...fieldFacts("health", host.health),
  ]);
});

test("OpenTelemetry spans and metrics keep their names", async () => {
  const collector = await openReceiver();
  onTestFinished(() => collector.close());
  const settings = {
    HOLDFAST_HOME: makeFolder(),
    HOLDFAST_MODEL: "rehearsal",
    HOLDFAST_TOOL_RULES: "allow terminal",
    OTEL_EXPORTER_OTLP_ENDPOINT: collector.address,
  };
  const prompt = `{tool:terminal ${JSON.stringify({ command: ["echo", "heron"] })}}`;
  const run = startProcess(["packages/host/bin/holdfast.mjs", "run", prompt], {
    env: settingsFor(settings),
  });
  expect(await run.exited).toMatchObject({ code: 0 });
  expectSurface(
    "telemetry",
    collector.at("/v1/").flatMap(({ body }) => telemetryFacts(body)),
  );
});

interface Attribute {
  readonly key: string;
}

interface Scope {
  readonly scope: { readonly name: string };
  readonly spans?: readonly { readonly name: string; readonly attributes: readonly Attribute[] }[];
  readonly metrics?: readonly Metric[];
}

interface Metric {
  readonly name: string;
  readonly unit: string;
  readonly histogram?: {
    readonly dataPoints: readonly { readonly attributes: readonly Attribute[] }[];
  };
}

/** The JSON encoding of OTLP, as far as it is read here. */
interface Exported {
  readonly resourceSpans?: readonly { readonly scopeSpans: readonly Scope[] }[];
  readonly resourceMetrics?: readonly { readonly scopeMetrics: readonly Scope[] }[];
}

/** The names of scopes, spans, metrics and their attributes. */
function telemetryFacts(document: unknown): string[] {
  const { resourceSpans = [], resourceMetrics = [] } = document as Exported;
  const scopes = [
    ...resourceSpans.flatMap(({ scopeSpans }) => scopeSpans),
    ...resourceMetrics.flatMap(({ scopeMetrics }) => scopeMetrics),
  ];
  return scopes.flatMap(({ scope, spans = [], metrics = [] }) => [
    `scope ${scope.name}`,
    ...spans.flatMap(({ name, attributes }) => withAttributes(`span ${name}`, attributes)),
    ...metrics.flatMap(({ name, unit, histogram }) => {
      const points = histogram?.dataPoints ?? [];
      return withAttributes(
        `metric ${name} in ${unit}`,
        points.flatMap(({ attributes }) => attributes),
      );
    }),
  ]);
}

function withAttributes(title: string, attributes: readonly Attribute[]): string[] {
  return [title, ...attributes.map(({ key }) => `${title}: ${key}`)];
}
