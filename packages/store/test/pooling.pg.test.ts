import type { StoreHarness } from "@holdfast/testing/conformance/harness";
import { fsckFindings } from "@holdfast/testing/conformance/harness";
import { storeCases } from "@holdfast/testing/conformance/store/store-cases";
import { createDatabase } from "@holdfast/testing/postgres/create-database";
import { type PoolingProxy, startPoolingProxy } from "@holdfast/testing/postgres/pooling-proxy";
import { afterAll, beforeAll, describe, expect, inject, test } from "vitest";

import { openPostgresStore } from "../src/postgres/open.ts";

function pooledAddress(proxy: PoolingProxy, url: string): string {
  const address = new URL(proxy.url);
  address.pathname = new URL(url).pathname;
  return address.href;
}

describe("the postgres store behind a pooler that shares connections between transactions", () => {
  let proxy: PoolingProxy;
  let harness: StoreHarness;
  beforeAll(async () => {
    proxy = await startPoolingProxy(inject("postgresUrl"));
    const database = await createDatabase();
    const url = pooledAddress(proxy, database.url);
    let offset = 0;
    const open = () =>
      openPostgresStore({ url, listenUrl: database.url, clockOffset: () => offset });
    const store = await open();
    harness = {
      store,
      open,
      advanceClock: async (ms) => void (offset += ms),
      async close() {
        await store.close();
        await proxy[Symbol.asyncDispose]();
        await database[Symbol.asyncDispose]();
      },
    };
  });
  afterAll(() => harness.close());

  // A part of them is enough here: the rules are the same, and each statement is sent by several cases.
  test.each(storeCases.filter((_case, index) => index % 3 === 0))(
    "obeys: $title",
    async ({ run }) => {
      await expect(run(harness)).resolves.toBeUndefined();
    },
  );

  test("does not open if it would listen through the pooler", async () => {
    for (const refuseParameters of [true, false]) {
      await using shared = await startPoolingProxy(inject("postgresUrl"), { refuseParameters });
      await using database = await createDatabase();
      const url = pooledAddress(shared, database.url);
      for (const options of [{ url }, { url, listenUrl: url }]) {
        const opening = openPostgresStore(options);
        await expect(opening).rejects.toMatchObject({ code: "store_pooled" });
        await expect(opening).rejects.toThrow("HOLDFAST_STORE_LISTEN_URL");
      }
      await (await openPostgresStore({ url, listenUrl: database.url })).close();
    }
  });

  test("leaves nothing on the connections that it shared, and the log is sound", async () => {
    expect(await fsckFindings(harness.store)).toEqual([]);
    expect(proxy.switches).toBeGreaterThan(20);
    expect(await proxy.sessionState()).toEqual([]);
  });
});
