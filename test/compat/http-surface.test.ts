import { problem } from "@holdfast/protocol";
import { afterAll, beforeAll, beforeEach, test } from "vitest";

import { openApi } from "../../packages/host/test/support/api-rig.ts";
import { requirePage } from "../e2e/page/require-page.ts";
import { serveWithClient, valueOf } from "../e2e/served-host.ts";
import {
  type ApiDocument,
  componentFacts,
  type DescribedRoute,
  filledPath,
  operationFacts,
  policyOf,
  routesIn,
} from "./openapi.ts";
import { expectSurface } from "./surface.ts";

beforeEach(requirePage);

let host: Awaited<ReturnType<typeof serveWithClient>>;
let described: ApiDocument;
const ends: (() => void | Promise<void>)[] = [];
beforeAll(async () => {
  host = await serveWithClient({}, (end) => void ends.unshift(end));
  described = valueOf(await host.client.openapi()) as unknown as ApiDocument;
});
afterAll(async () => {
  for (const end of ends) await end();
});

/** The status, and the code where it is a problem. */
async function ask(route: DescribedRoute, headers: Record<string, string>): Promise<string> {
  const over = new AbortController();
  const answer = await fetch(new URL(filledPath(route).slice(1), host.address), {
    method: route.method,
    headers: { "content-type": "application/json", ...headers },
    signal: over.signal,
    ...(route.operation.requestBody !== undefined && { body: "{}" }),
  });
  const { status } = answer;
  const code = status < 400 ? [] : [problem.parse(await answer.json()).code];
  // An event stream would go on.
  over.abort();
  return [status, ...code].join(" ");
}

test("routes keep their methods, paths, policies and answers to an empty request", async () => {
  const facts: string[] = [];
  for (const route of routesIn(described)) {
    const { title, operation } = route;
    facts.push(
      `${title}: for ${policyOf(operation)}`,
      `${title}: repeat ${operation["x-repeat"]}`,
      `${title}: without a token ${await ask(route, {})}`,
      `${title}: with the token ${await ask(route, { authorization: `Bearer ${host.token}` })}`,
    );
  }
  expectSurface("routes", facts);
});

test("routes of other protocols keep their methods, paths and answers to an empty request", async () => {
  const rig = openApi();
  const facts: string[] = [];
  for (const { name, routes: served } of rig.protocols)
    for (const { method, path } of served) {
      const bearer = { authorization: `Bearer ${host.token}` };
      const url = new URL(path.replaceAll(/:\w+(\{[^}]*\})?/g, "x").slice(1), host.address);
      for (const headers of [{}, bearer]) {
        const body = method === "POST" ? { body: "{}" } : {};
        const type = { "content-type": "application/json" };
        const answer = await fetch(url, { method, headers: { ...type, ...headers }, ...body });
        await answer.body?.cancel();
        const who = headers === bearer ? "with the token" : "without a token";
        facts.push(`${name} ${method} ${path}: ${who} ${answer.status}`);
      }
    }
  await rig.close();
  expectSurface("protocols", facts);
});

test("the OpenAPI document keeps its parameters, bodies and answers", () => {
  const operations = routesIn(described).flatMap(operationFacts);
  expectSurface("openapi", [...operations, ...componentFacts(described)]);
});

test("signing in keeps its link and its cookie", async () => {
  const { origin, port } = new URL(host.address);
  const [, link = ""] = /(http\S+)/.exec(host.host.lines[0] ?? "") ?? [];
  const login = await fetch(new URL("api/login", host.address), {
    method: "POST",
    headers: { "content-type": "application/json", origin },
    body: JSON.stringify({ token: host.token }),
  });
  const cookies = login.headers.getSetCookie().map((cookie) => cookie.replace(port, "<port>"));
  const facts = [link.replace(origin, "<origin>"), ...cookies];
  expectSurface(
    "sign-in",
    facts.map((fact) => fact.replace(/=[\w.-]{20,}/, "=<secret>")),
  );
});
