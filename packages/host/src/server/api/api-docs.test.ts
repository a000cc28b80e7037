import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  problem,
  problemsOf,
  type Route as ContractRoute,
  type RouteName,
  routes,
} from "@holdfast/protocol";
import { expect, onTestFinished, test } from "vitest";

import { sendAndWait, newSession } from "../../../test/support/api-helpers.ts";
import { fillPath } from "@holdfast/testing/host/fill-path";
import { openApi } from "../../../test/support/api-rig.ts";

const all = Object.entries(routes) as [RouteName, ContractRoute][];

function open() {
  const home = mkdtempSync(join(tmpdir(), "holdfast-openapi-"));
  const rig = openApi(undefined, { home });
  onTestFinished(async () => {
    await rig.close();
    rmSync(home, { recursive: true, force: true });
  });
  return rig;
}

interface Operation {
  operationId: string;
  security: unknown[];
  parameters?: { name: string; in: string; required: boolean }[];
  requestBody?: { content: Record<string, { example?: unknown }> };
  responses: Record<string, unknown>;
}

test("the OpenAPI document lists every route with its parameters, body, answer and problems", async () => {
  const rig = open();
  const document = (await (await rig.ask("GET", "/api/openapi.json")).json()) as {
    openapi: string;
    paths: Record<string, Record<string, Operation>>;
  };
  expect(document.openapi).toBe("3.1.0");
  const described = Object.values(document.paths).flatMap((methods) => Object.values(methods));
  expect(described.map(({ operationId }) => operationId).toSorted()).toEqual(
    all.map(([name]) => name).toSorted(),
  );
  for (const [name, route] of all) {
    const path = route.path.replaceAll(/:(\w+)/g, "{$1}");
    const operation = document.paths[path]?.[route.method.toLowerCase()];
    expect(operation?.operationId).toBe(name);
    const inPath = [...route.path.matchAll(/:(\w+)/g)].map(([, each]) => each);
    const pathParameters = operation?.parameters?.filter((each) => each.in === "path") ?? [];
    expect(new Set(pathParameters.map((each) => each.name))).toEqual(new Set(inPath));
    expect(operation?.requestBody === undefined).toBe(route.body === undefined);
    const ways = { open: 0, principal: 2, signed: 1 };
    expect(operation?.security).toHaveLength(ways[route.access]);
    expect(Object.keys(operation?.responses ?? {})).toContain(String(route.answer.status));
  }
});

test("every reference in the OpenAPI document resolves", async () => {
  const document: unknown = await (await open().ask("GET", "/api/openapi.json")).json();
  const references = referencesIn(document);
  expect(references.size).toBeGreaterThan(0);
  for (const reference of references) {
    const names = reference.replace(/^#\//, "").split("/");
    const target = names.reduce<unknown>((value, name) => fieldsOf(value)[name], document);
    expect([reference, typeof target]).toEqual([reference, "object"]);
  }
});

function referencesIn(value: unknown): ReadonlySet<string> {
  const { $ref, ...fields } = fieldsOf(value);
  const below = Object.values(fields).flatMap((field) => [...referencesIn(field)]);
  return new Set(typeof $ref === "string" ? [$ref, ...below] : below);
}

function fieldsOf(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null ? { ...value } : {};
}

test.each(all.filter(([, { body }]) => body !== undefined && body !== "bytes"))(
  "%s takes an empty body or has a valid example",
  (_, route) => {
    if (route.body === undefined || route.body === "bytes") return;
    const fits = route.body.safeParse(route.example ?? {});
    expect(fits.error?.issues ?? []).toEqual([]);
  },
);

const streams: ReadonlySet<string> = new Set(["events"]);

/** What a route cannot do without. */
const queries: Readonly<Record<string, string>> = {
  search: "?q=hello",
  checkFolder: "?path=/projects/tides",
  readFile: "?path=tides.txt",
  writeFile: "?path=tides.txt",
  uploadImport: "?at=0&name=chats.zip",
};

const headers: Readonly<Record<string, Record<string, string>>> = {
  changeFact: { "if-match": '"1"' },
  changeGuidance: { "if-match": '"0"' },
  changeInstructions: { "if-match": '"0"' },
  changePersona: { "if-match": '"1"' },
  changeProject: { "if-match": '"1"' },
};

test("every example gets an answer that the document lists", async () => {
  const rig = open();
  const id = await newSession(rig);
  await sendAndWait(rig, id, "Hello");
  const served = new Set(rig.app.routes.map(({ method, path }) => `${method} ${path}`));
  const answered: string[] = [];
  for (const [name, route] of all) {
    if (!served.has(`${route.method} ${route.path}`) || streams.has(route.answer.media)) continue;
    const isOfSession = /^\/api\/(?:sessions|trash)\//.test(route.path);
    const isSetting = route.path.startsWith("/api/settings/");
    const isGuidance = route.path.startsWith("/api/guidance/");
    const named = isSetting ? { name: "model" } : isGuidance ? { part: "tools" } : {};
    const path = fillPath(route, isOfSession ? { id } : named);
    const search = queries[name] ?? "";
    const sent =
      route.body === undefined || route.body === "bytes" ? undefined : (route.example ?? {});
    const answer = await rig.ask(route.method, path + search, sent, headers[name]);
    answered.push(name);
    if (answer.status === route.answer.status) {
      await answer.body?.cancel();
      continue;
    }
    const { code } = problem.parse(await answer.json());
    expect([name, code, problemsOf(route)]).toEqual([name, code, expect.arrayContaining([code])]);
    expect([name, answer.status < 500 && code !== "invalid_request"]).toEqual([name, true]);
  }
  expect(answered.length).toBeGreaterThan(30);
});

test("the docs page shows every route, runs no script and fetches nothing", async () => {
  const rig = open();
  const answer = await rig.ask("GET", "/api/docs");
  expect(answer.headers.get("content-type")).toBe("text/html; charset=utf-8");
  const policy = answer.headers.get("content-security-policy") ?? "";
  expect(policy).toMatch(/^default-src 'none'; style-src 'sha256-[\w+/=]+'; /);
  expect(policy).not.toContain("unsafe");
  const page = await answer.text();
  for (const [name, { path }] of all) {
    expect(page).toContain(`id="${name}"`);
    expect(page).toContain(`<code>${path}</code>`);
  }
  expect(page).not.toMatch(/<script|<link|<img|src=|https?:\/\//);
});
