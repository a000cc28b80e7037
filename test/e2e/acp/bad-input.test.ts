import { existsSync } from "node:fs";
import { type McpServer, methods } from "@agentclientprotocol/sdk";
import { ids } from "@holdfast/protocol";
import { expect, test } from "vitest";
import { valueOf } from "../served-host.ts";
import { openEditor, startBridge } from "./editor.ts";
import { asId, serveProject } from "./project.ts";

const { session: calls } = methods.agent;
const line = (message: unknown): string => `${JSON.stringify(message)}\n`;
const initialize = (protocolVersion: unknown, id = 1) =>
  line({ jsonrpc: "2.0", id, method: "initialize", params: { protocolVersion } });

test("whatever version a client asks for, it is told the one that is spoken", async () => {
  const { settings } = await serveProject();
  for (const asked of [1, 0, 2, 999]) {
    const bridge = startBridge(settings);
    bridge.write(initialize(asked));
    expect(await bridge.answer(1)).toMatchObject({ result: { protocolVersion: 1 } });
    await bridge.kill();
  }
});

test("[safety] malformed messages get the protocol's own errors, and the connection goes on", async () => {
  const { settings } = await serveProject();
  const bridge = startBridge(settings);
  bridge.write(line({ jsonrpc: "2.0", id: 1, method: "session/list", params: {} }));
  expect(await bridge.answer(1)).toMatchObject({ error: { code: -32_600 } });
  bridge.write(initialize("one", 2));
  expect(await bridge.answer(2)).toMatchObject({ error: { code: -32_602 } });
  bridge.write(initialize(1, 3));
  expect(await bridge.answer(3)).toMatchObject({ result: { protocolVersion: 1 } });
  bridge.write("this is not JSON\n[]\n42\n");
  const refusals = (): number[] =>
    bridge
      .stdout()
      .trim()
      .split("\n")
      .map((text) => JSON.parse(text) as { id: unknown; error?: { code: number } })
      .flatMap(({ id, error }) => (id === null && error !== undefined ? [error.code] : []));
  await expect.poll(refusals).toEqual([-32_700, -32_600, -32_600]);
  const wrong = [
    ["session/new", { cwd: 5, mcpServers: [] }, -32_602],
    ["session/new", { cwd: "/tmp" }, -32_602],
    ["session/prompt", { sessionId: "ses_x" }, -32_602],
    ["session/fork", { sessionId: "ses_x" }, -32_601],
    ["authenticate", { methodId: "x" }, -32_601],
    ["fs/read_text_file", { sessionId: "x", path: "/etc/passwd" }, -32_601],
  ] as const;
  for (const [index, [method, params, code]] of wrong.entries()) {
    bridge.write(line({ jsonrpc: "2.0", id: 10 + index, method, params }));
    expect([method, await bridge.answer(10 + index)]).toMatchObject([method, { error: { code } }]);
  }
  // An answer that nobody asked for, and notifications about nothing.
  bridge.write(
    line({
      jsonrpc: "2.0",
      id: 4_711,
      result: { outcome: { outcome: "selected", optionId: "once" } },
    }),
  );
  bridge.write(
    line({ jsonrpc: "2.0", method: "session/cancel", params: { sessionId: "ses_none" } }),
  );
  bridge.write(line({ jsonrpc: "2.0", method: "$/cancel_request", params: { requestId: 99 } }));
  bridge.write(line({ jsonrpc: "2.0", method: "unknown/notification", params: {} }));
  bridge.write(line({ jsonrpc: "2.0", id: 30, method: "session/list", params: { unknown: 1 } }));
  expect(await bridge.answer(30)).toMatchObject({ result: { sessions: [] } });
});

test("an unknown session is -32002 everywhere, and never becomes a new one", async () => {
  const { project, settings, client } = await serveProject();
  const editor = await openEditor({ settings });
  for (const sessionId of [ids.make("session"), "../../etc", "", "ses_"]) {
    for (const attempt of [
      () => editor.load(sessionId, project),
      () => editor.agent.request(calls.resume, { sessionId, cwd: project }),
      () => editor.prompt(sessionId, "Hello"),
      () =>
        editor.agent.request(calls.setConfigOption, {
          sessionId,
          configId: "model",
          value: "rehearsal",
        }),
    ])
      await expect(attempt()).rejects.toMatchObject({ code: -32_002 });
  }
  expect(valueOf(await client.listSessions()).sessions).toEqual([]);
});

test("[safety] a message that is too long is refused, and what follows is heard", async () => {
  const { project, settings, client } = await serveProject();
  const bridge = startBridge(settings);
  bridge.write(initialize(1));
  await bridge.answer(1);
  bridge.write(
    line({
      jsonrpc: "2.0",
      id: 2,
      method: "session/new",
      params: { cwd: project, mcpServers: [] },
    }),
  );
  const { sessionId } = (await bridge.answer(2))["result"] as { sessionId: string };
  const long = "x".repeat(33 * 1024 * 1024);
  bridge.write(
    line({
      jsonrpc: "2.0",
      id: 3,
      method: "session/prompt",
      params: { sessionId, prompt: [{ type: "text", text: long }] },
    }),
  );
  expect(await bridge.answer(null)).toMatchObject({
    error: { code: -32_600, message: expect.stringContaining("bytes") as string },
  });
  const tooLong = "y".repeat(1_000_001);
  bridge.write(
    line({
      jsonrpc: "2.0",
      id: 4,
      method: "session/prompt",
      params: { sessionId, prompt: [{ type: "text", text: tooLong }] },
    }),
  );
  expect(await bridge.answer(4)).toMatchObject({ error: { code: -32_602 } });
  bridge.write(
    line({ jsonrpc: "2.0", id: 5, method: "session/prompt", params: { sessionId, prompt: [] } }),
  );
  expect(await bridge.answer(5)).toMatchObject({ error: { code: -32_602 } });
  const image = { type: "image", data: "not base64!", mimeType: "image/png" };
  bridge.write(
    line({
      jsonrpc: "2.0",
      id: 6,
      method: "session/prompt",
      params: { sessionId, prompt: [image] },
    }),
  );
  expect(await bridge.answer(6)).toMatchObject({ error: { code: -32_602 } });
  const { session } = valueOf(await client.readSession({ params: { id: asId(sessionId) } }));
  expect(session.messageCount).toBe(0);
  bridge.write(
    line({
      jsonrpc: "2.0",
      id: 7,
      method: "session/prompt",
      params: { sessionId, prompt: [{ type: "text", text: "Hello {words:2}" }] },
    }),
  );
  expect(await bridge.answer(7)).toMatchObject({ result: { stopReason: "end_turn" } });
});

test("an editor's MCP servers are not started, which is said where it shows notices", async () => {
  const { project, settings } = await serveProject();
  const mcpServers: McpServer[] = [
    { name: "evil", command: "/bin/touch", args: [`${project}/made`], env: [] },
  ];
  const silent = await openEditor({ settings });
  const told = await openEditor({ settings, capabilities: { session: { notices: {} } } });
  const { sessionId } = await silent.agent.request(calls.new, { cwd: project, mcpServers });
  await told.agent.request(calls.new, { cwd: project, mcpServers });
  const notice = await told.untilUpdate(({ sessionUpdate }) => sessionUpdate === "notice");
  expect(notice).toMatchObject({ title: expect.stringContaining("MCP servers") as string });
  await silent.prompt(sessionId, "Hello {words:2}");
  expect(existsSync(`${project}/made`)).toBe(false);
  expect(silent.updates.map(({ update }) => update.sessionUpdate)).not.toContain("notice");
});
