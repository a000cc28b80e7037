import { until } from "@holdfast/testing/rigs/run-rig";
import { expect, onTestFinished, test } from "vitest";

import type { McpServers } from "../../ops/config/mcp-servers.ts";
import { type Answer, openMcpHttpServer } from "@holdfast/testing/host/mcp-http-server";
import { openMcpRig } from "../../../test/support/mcp/mcp-rig.ts";
import { createBoundFetch } from "./http-transport.ts";
import { resolveValues } from "./resolve-values.ts";

const environment = { ...process.env, WIKI_KEY: "the key of the wiki" };
const headers = { Authorization: { env: "WIKI_KEY", prefix: "Bearer " } };

async function serve(first?: Answer) {
  const server = await openMcpHttpServer(first);
  onTestFinished(() => server.close());
  return server;
}

function open(servers: McpServers) {
  const rig = openMcpRig(servers, environment);
  onTestFinished(() => rig.stop());
  return rig;
}

const events = { "content-type": "text/event-stream" };

test("[safety] the operator's headers go to their origin only, not where the server redirects", async () => {
  const elsewhere = await serve();
  const server = await serve((_, response) => {
    response.writeHead(307, { location: elsewhere.url }).end();
    return true;
  });
  const rig = open({ wiki: { url: server.url, headers } });
  expect(await rig.mcp.tools()).toMatchObject({ missing: [{ name: "wiki" }] });
  expect(rig.mcp.states()[0]?.lastError).toContain("redirects");
  expect(server.heard[0]).toEqual({
    method: "POST",
    authorization: "Bearer the key of the wiki",
  });
  expect(elsewhere.heard).toEqual([]);
});

test("[safety] a server that demands a sign-in elsewhere is refused, and nothing is sent there", async () => {
  const elsewhere = await serve();
  const server = await serve((_, response) => {
    const realm = `Bearer resource_metadata="${elsewhere.origin}/.well-known/oauth-protected-resource"`;
    response.writeHead(401, { "www-authenticate": realm }).end();
    return true;
  });
  const rig = open({ wiki: { url: server.url, headers } });
  await rig.mcp.tools();
  await until(() => server.heard.length > 2);
  expect(elsewhere.heard).toEqual([]);
  expect(rig.mcp.states()[0]?.lastError).toContain("401");
});

test("a server's fetch contacts no other origin, whoever names it", async () => {
  const sent: unknown[] = [];
  const bound = createBoundFetch("https://wiki.example", async (...asked) => {
    sent.push(asked);
    return new Response("");
  });
  await expect(bound("https://wiki.example.org/mcp")).rejects.toThrow("another origin");
  await expect(bound("http://wiki.example/mcp")).rejects.toThrow("another origin");
  expect(sent).toEqual([]);
  expect((await bound("https://wiki.example/mcp")).status).toBe(200);
});

test("[safety] a stored key is sent to the address it was stored for", () => {
  const stored = { key: "stored", baseUrl: "https://wiki.example/api" };
  const kept = { environment: {}, secrets: { read: () => stored } };
  const given = { Authorization: { secret: "wiki", prefix: "Bearer " } };
  expect(resolveValues(given, kept, "https://wiki.example")).toEqual({
    ok: true,
    values: { Authorization: "Bearer stored" },
  });
  for (const origin of ["https://wiki.example.org", "http://wiki.example", undefined])
    expect(resolveValues(given, kept, origin)).toMatchObject({ ok: false });
});

test("[P7] a call with a lost connection is unknown, a refused one has failed, and neither is sent twice", async () => {
  const elsewhere = await serve();
  const server = await serve(({ params, method }, response) => {
    if (method !== "tools/call") return false;
    switch (params?.name) {
      case "cut":
        response.writeHead(200, events).write(": here it comes\n\n");
        response.destroy();
        return true;
      case "end":
        response.writeHead(200, events).end();
        return true;
      case "forgotten":
        response.writeHead(404).end();
        return true;
      case "overloaded":
        response.writeHead(503).end();
        return true;
      case "elsewhere":
        response.writeHead(302, { location: elsewhere.url }).end();
        return true;
      default:
        return false;
    }
  });
  const rig = open({ wiki: { url: server.url, headers } });
  const names = ["cut", "end", "overloaded", "forgotten", "elsewhere", "answer"];
  const outcomes: string[] = [];
  for (const name of names) outcomes.push((await rig.call(`wiki__${name}`)).outcome);
  expect(outcomes).toEqual(["unknown", "unknown", "unknown", "failed", "failed", "ok"]);
  expect(server.calls).toEqual(names);
  expect(elsewhere.heard).toEqual([]);
});
