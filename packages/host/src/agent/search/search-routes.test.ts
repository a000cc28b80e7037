import { openProviderServer } from "@holdfast/testing/host/providers/provider-server";
import { expect, onTestFinished, test } from "vitest";
import { valueOf } from "../../../test/support/api-helpers.ts";
import { openApi } from "../../../test/support/api-rig.ts";

const key = "a-key-that-nobody-sees";

async function openRig(status: number) {
  const server = await openProviderServer(() => ({ status, frames: ['{"results":[]}'] }));
  onTestFinished(() => server[Symbol.asyncDispose]());
  const rig = openApi([], { environment: {}, webSearch: { addresses: { tavily: server.url } } });
  onTestFinished(() => rig.close());
  return { rig, requests: server.requests };
}

test("a search key is checked with one search, stored, and never read back", async () => {
  const { rig, requests } = await openRig(200);
  const params = { provider: "tavily" } as const;
  expect(await rig.client.putSearchKey({ params, body: { key } })).toMatchObject({ ok: true });
  expect(requests).toMatchObject([{ headers: { authorization: `Bearer ${key}` } }]);
  const text = await (await rig.ask("GET", "/api/web-search")).text();
  expect(text).not.toContain(key);
  const { providers } = valueOf(await rig.client.listSearchProviders());
  expect(providers.filter(({ usable }) => usable)).toMatchObject([
    {
      provider: "tavily",
      used: true,
      key: { from: "stored" },
      check: { state: "verified" },
    },
  ]);
  const checked = valueOf(await rig.client.checkSearchProvider({ params }));
  expect(checked.providers).toMatchObject([{ provider: "tavily", check: { state: "verified" } }]);
  expect(requests).toHaveLength(2);
  expect(await rig.client.deleteSearchKey({ params })).toMatchObject({ ok: true });
  const after = valueOf(await rig.client.listSearchProviders()).providers;
  expect(after.some(({ usable }) => usable)).toBe(false);
});

test("a search key that the provider rejects is not stored", async () => {
  const { rig } = await openRig(401);
  const params = { provider: "tavily" } as const;
  const refused = await rig.client.putSearchKey({ params, body: { key } });
  expect(refused).toMatchObject({ ok: false, error: { code: "key_rejected" } });
  const { providers } = valueOf(await rig.client.listSearchProviders());
  expect(providers.some(({ usable }) => usable)).toBe(false);
});

test.each([
  ["/api/web-search/searxng/key", { key }],
  ["/api/web-search/nobody/key", { key }],
  ["/api/web-search/tavily/key", { key: "two words" }],
  ["/api/web-search/tavily/key", { key, baseUrl: "http://evil.example" }],
])("PUT %s %j is refused without a search", async (path, body) => {
  const { rig, requests } = await openRig(200);
  expect((await rig.ask("PUT", path, body)).status).toBe(400);
  expect(requests).toEqual([]);
});
