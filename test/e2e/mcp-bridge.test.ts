import { startHost } from "@holdfast/testing/process/start-process";
import { beforeEach, expect, test } from "vitest";
import { connectMcp, overStdio, runAnswer } from "./mcp-client.ts";
import { requirePage } from "./page/require-page.ts";
import { serveWithClient, settingsFor } from "./served-host.ts";

beforeEach(requirePage);

test("holdfast mcp outlives its host: a call meanwhile says what to do, and the next one reaches the new host", async () => {
  const { host, home } = await serveWithClient({ HOLDFAST_LEASE_MS: "3000" });
  const client = await connectMcp(overStdio(home));
  const send = (message_id: string) =>
    client.callTool({ name: "session_send", arguments: { text: "Hi {words:3}", message_id } });
  const first = runAnswer(await send("one"));
  await host.kill();
  await expect(send("two")).rejects.toThrow(/does not answer.*holdfast serve/);
  await serveWithClient({ HOLDFAST_HOME: home, HOLDFAST_LEASE_MS: "3000" });
  expect(runAnswer(await send("one"))).toEqual(first);
  expect(runAnswer(await send("two"))).toMatchObject({ state: "completed" });
});

test("a line that is not JSON-RPC gets the protocol's own error, and the next line is answered", async () => {
  const { home } = await serveWithClient();
  const env = settingsFor({ HOLDFAST_HOME: home });
  const bridge = startHost(["mcp"], { env, stdin: "pipe" });
  const answer = async (id: unknown) => {
    const has = (line: string) => (JSON.parse(line) as { id: unknown }).id === id;
    return JSON.parse(await bridge.line(has)) as unknown;
  };
  bridge.type('this is not JSON\n{"hello":true}\n\n');
  const refusals = () =>
    bridge.lines.map((line) => (JSON.parse(line) as { error: { code: number } }).error.code);
  await expect.poll(refusals).toEqual([-32_700, -32_600]);
  const request = (id: number, method: string, params: Record<string, unknown> = {}) =>
    bridge.type(`${JSON.stringify({ jsonrpc: "2.0", id, method, params })}\n`);
  const clientInfo = { name: "raw", version: "1" };
  request(1, "initialize", { protocolVersion: "2025-11-25", capabilities: {}, clientInfo });
  expect(await answer(1)).toMatchObject({ result: { protocolVersion: "2025-11-25" } });
  request(2, "no/such");
  expect(await answer(2)).toMatchObject({ error: { code: -32_601 } });
  request(3, "tools/call", { name: "no_such_tool", arguments: {} });
  expect(await answer(3)).toMatchObject({ error: { code: -32_602 } });
  bridge.endInput();
  expect(await bridge.exited).toMatchObject({ code: 0 });
  expect(bridge.stderr()).toBe("");
});

test("a client that closes its side at once gets every answer, and then holdfast mcp ends silently", async () => {
  const { home } = await serveWithClient();
  const env = settingsFor({ HOLDFAST_HOME: home });
  const clientInfo = { name: "raw", version: "1" };
  const requests = [
    ["initialize", { protocolVersion: "2025-11-25", capabilities: {}, clientInfo }],
    ["tools/list", {}],
    ["tools/call", { name: "session_send", arguments: { text: "{words:9}", message_id: "1" } }],
  ].map(([method, params], id) => `${JSON.stringify({ jsonrpc: "2.0", id, method, params })}\n`);
  async function askAndLeave(asked: readonly string[]) {
    const bridge = startHost(["mcp"], { env, stdin: "pipe" });
    bridge.type(asked.join(""));
    bridge.endInput();
    expect(await bridge.exited).toMatchObject({ code: 0 });
    expect(bridge.stderr()).toBe("");
    return bridge.lines
      .map((line) => JSON.parse(line) as { id: number; result?: unknown })
      .toSorted((a, b) => a.id - b.id);
  }
  expect(await askAndLeave([])).toEqual([]);
  expect(await askAndLeave(requests.slice(0, 1))).toMatchObject([{ id: 0, result: {} }]);
  expect(await askAndLeave(requests)).toMatchObject([
    { id: 0, result: {} },
    { id: 1, result: {} },
    { id: 2, result: { structuredContent: { state: "completed" } } },
  ]);
});
