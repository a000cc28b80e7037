import { ids, laneKey, ownerId } from "@holdfast/protocol";
import { createTool, okResult } from "@holdfast/testing/rigs/run-rig";
import { expect, test } from "vitest";
import type { SearchAccount } from "./search-provider.ts";
import { withWebSearch } from "./with-web-search.ts";

test("[P9] agents change when a search provider is set up, changed or removed, and only then", async () => {
  let account: SearchAccount | null = null;
  const own = new Map([["shell", createTool("shell", async () => okResult("done"))]]);
  const before = { tools: own, signature: "mcp=1" };
  const search = {
    account: () => account,
    search: async () => ({ ok: true, results: [] }) as const,
  };
  const offered = withWebSearch(async () => before, search);
  const request = {
    owner: ownerId.parse("owner"),
    session: ids.make("session"),
    lane: laneKey.parse("web:page"),
  };
  const offeredBy = (address: string | null) => {
    account =
      address === null
        ? null
        : { provider: "searxng", address, key: null, keyFrom: { from: "none" } };
    return offered(request);
  };
  expect(await offeredBy(null)).toBe(before);
  const one = await offeredBy("http://one.example");
  expect([...one.tools.keys()]).toEqual(["shell", "web_search"]);
  expect(one.signature).toMatch(/^mcp=1 search=\w+$/);
  expect(await offeredBy("http://one.example")).toMatchObject({ signature: one.signature });
  const other = await offeredBy("http://other.example");
  expect(other.signature).not.toBe(one.signature);
  expect(other.tools.get("web_search")?.identity).toBe("other.example");
  const local = await offeredBy("http://[::1]:8888");
  expect(local.tools.get("web_search")?.identity).toBe("::1");
  expect(await offeredBy(null)).toBe(before);
});
