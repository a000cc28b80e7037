import {
  openProviderServer,
  type ProviderServer,
  type ServerAnswer,
} from "@holdfast/testing/host/providers/provider-server";
import { expect, onTestFinished, test } from "vitest";
import type { Account } from "../accounts.ts";
import type { Provider } from "../model-info.ts";
import { createKeyChecks } from "./key-checks.ts";

async function serve(answer: ServerAnswer): Promise<ProviderServer> {
  const server = await openProviderServer(() => answer);
  onTestFinished(() => server[Symbol.asyncDispose]());
  return server;
}

function accountAt(url: string, provider: Provider, key: string | null = "key-1"): Account {
  return { provider, baseUrl: `${url}/v1`, key, keyFrom: { from: "stored" } };
}

test.each([
  ["anthropic", { "x-api-key": "key-1", "anthropic-version": "2023-06-01" }],
  ["openai", { authorization: "Bearer key-1" }],
  ["google", { "x-goog-api-key": "key-1" }],
  ["openai-compatible", { authorization: "Bearer key-1" }],
] as const)("%s is asked for its models in its own way", async (provider, headers) => {
  const server = await serve({ frames: ['{"data":[]}'] });
  const checks = createKeyChecks();
  const account = accountAt(server.url, provider);
  expect(checks.known(account)).toEqual({ state: "unverified" });
  expect(await checks.check(account)).toEqual({ state: "verified" });
  expect(checks.known(account)).toEqual({ state: "verified" });
  expect(server.requests).toMatchObject([{ method: "GET", path: "/v1/models", headers }]);
});

test.each([
  ["a 401", { status: 401, frames: ["no"] }, "rejected"],
  ["a 403", { status: 403, frames: ["no"] }, "rejected"],
  ["Google's 400", { status: 400, frames: ['{"reason":"API_KEY_INVALID"}'] }, "rejected"],
  ["another 400", { status: 400, frames: ["what?"] }, "unreachable"],
  ["a 500", { status: 500, frames: ["later"] }, "unreachable"],
  ["a cut connection", { cut: true }, "unreachable"],
  ["a redirect", { status: 302, headers: { location: "/else" }, frames: [] }, "unreachable"],
  ["no list of models", { status: 404, frames: [] }, "unverified"],
] as const)("after %s a key is not verified", async (_, answer, state) => {
  const server = await serve(answer);
  const checks = createKeyChecks();
  const account = accountAt(server.url, "google");
  expect(await checks.check(account)).toMatchObject({ state });
  expect(checks.known(account)).toMatchObject({ state });
});

test("a result belongs to one key at one address", async () => {
  const server = await serve({ frames: ["{}"] });
  const checks = createKeyChecks();
  await checks.check(accountAt(server.url, "openai"));
  expect(checks.known(accountAt(server.url, "openai", "key-2"))).toEqual({ state: "unverified" });
  checks.record(accountAt(server.url, "openai"), "rejected");
  expect(checks.known(accountAt(server.url, "openai"))).toEqual({ state: "rejected" });
});
