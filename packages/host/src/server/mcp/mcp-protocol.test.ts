import { createTool, okResult } from "@holdfast/testing/rigs/run-rig";
import { calls, says } from "@holdfast/testing/fakes/scripted-model";
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { ids } from "@holdfast/protocol";
import { expect, onTestFinished, test } from "vitest";
import { z } from "zod";
import { newSession, sendAndWait, valueOf } from "../../../test/support/api-helpers.ts";
import { type ApiRig, type ApiRigOptions, openApi } from "../../../test/support/api-rig.ts";

const version = "2026-07-28";
const tasksExtension = "io.modelcontextprotocol/tasks";

function open(...[script, options]: Parameters<typeof openApi>) {
  const rig = openApi(script, options);
  onTestFinished(async () => {
    await rig.close();
    expect(rig.bugs).toEqual([]);
  });
  return rig;
}

async function connect(rig: ApiRig, secret?: string): Promise<Client> {
  const authorization = secret === undefined ? rig.bearer["authorization"]! : `Bearer ${secret}`;
  const transport = new StreamableHTTPClientTransport(new URL("http://127.0.0.1/mcp"), {
    requestInit: { headers: { authorization } },
    fetch: async (url, init) => rig.app.request(String(url), init, {}),
  });
  const client = new Client(
    { name: "test", version: "1" },
    { versionNegotiation: { mode: "auto" } },
  );
  await client.connect(transport);
  onTestFinished(() => client.close());
  return client;
}

interface Asked {
  readonly rig: ApiRig;
  readonly capabilities?: Record<string, unknown>;
  readonly headers?: Record<string, string>;
}

const answer = z.looseObject({
  result: z.looseObject({}).optional(),
  error: z.looseObject({ code: z.number(), data: z.looseObject({}).optional() }).optional(),
});

/** One request of the newest generation, as it is sent. */
async function ask(
  { rig, capabilities = { extensions: { [tasksExtension]: {} } }, headers = {} }: Asked,
  method: string,
  params: Record<string, unknown> = {},
) {
  const meta = {
    "io.modelcontextprotocol/protocolVersion": version,
    "io.modelcontextprotocol/clientInfo": { name: "test", version: "1" },
    "io.modelcontextprotocol/clientCapabilities": capabilities,
  };
  const name = z
    .string()
    .optional()
    .parse(params["taskId"] ?? params["name"] ?? params["uri"]);
  const body = { jsonrpc: "2.0", id: 7, method, params: { ...params, _meta: meta } };
  const response = await rig.ask("POST", "/mcp", body, {
    accept: "application/json, text/event-stream",
    "mcp-protocol-version": version,
    "mcp-method": method,
    ...(name !== undefined && { "mcp-name": name }),
    ...headers,
  });
  return answer.parse(await response.json());
}

const pay = (paid: unknown[]) =>
  createTool("pay", async ({ input }) => okResult(`paid ${paid.push(input)}`), {
    approval: () => "ask",
  });

/** A run that waits for an approval, begun by an MCP client as a task. */
async function openWaiting(options: ApiRigOptions = {}) {
  const paid: unknown[] = [];
  const script = [calls("pay", "rent"), says("Done.")];
  const rig = open(script, { tools: [pay(paid)], ...options });
  const begun = await ask({ rig }, "tools/call", {
    name: "session_send",
    arguments: { text: "Pay", message_id: "one" },
  });
  const { taskId } = z.looseObject({ taskId: z.string() }).parse(begun.result);
  await expect.poll(async () => valueOf(await rig.client.listApprovals()).approvals.length).toBe(1);
  const [approval] = valueOf(await rig.client.listApprovals()).approvals;
  return { rig, paid, taskId, approval: approval! };
}

test("[safety] a key's client lists, finds, reads and polls nothing of the owner's, and has no schedules", async () => {
  const rig = open([says("The owner's answer")]);
  const session = await newSession(rig);
  await sendAndWait(rig, session, "marzipan");
  const { run } = valueOf(await rig.client.readSession({ params: { id: session } }));
  const { secret } = valueOf(await rig.client.createKey({ body: { name: "job" } }));
  const client = await connect(rig, secret);
  const call = async (name: string, args: Record<string, unknown>) =>
    client.callTool({ name, arguments: args });

  expect((await call("sessions_list", {})).structuredContent).toMatchObject({ sessions: [] });
  const found = await call("sessions_search", { query: "marzipan" });
  expect(found.structuredContent).toMatchObject({ hits: [] });
  expect((await call("approvals_list", {})).structuredContent).toEqual({ approvals: [] });
  for (const [name, args, code] of [
    ["session_read", { session_id: session }, "session_not_found"],
    ["session_send", { session_id: session, text: "Hi", message_id: "x" }, "session_not_found"],
    ["run_read", { run_id: run!.id }, "run_not_found"],
    ["run_cancel", { run_id: run!.id }, "run_not_found"],
  ] as const)
    expect(await call(name, args)).toMatchObject({
      isError: true,
      structuredContent: { error: { code } },
    });
  expect((await client.listResources()).resources).toEqual([]);
  const uri = `holdfast://session/${session}`;
  await expect(client.readResource({ uri })).rejects.toMatchObject({ code: -32602 });
  const headers = { authorization: `Bearer ${secret}` };
  const polled = await ask({ rig, headers }, "tasks/get", { taskId: run!.id });
  expect(polled).toMatchObject({ error: { code: -32602, data: { code: "run_not_found" } } });
  const { tools } = await client.listTools();
  expect(tools.filter(({ name }) => name.startsWith("schedule"))).toEqual([]);

  await client.callTool({
    name: "session_send",
    arguments: { text: "My own", message_id: "mine", wait_seconds: 0 },
  });
  expect((await call("sessions_list", {})).structuredContent).toMatchObject({
    sessions: [{ title: "My own" }],
  });
});

test("[safety] what an MCP client sends counts as a stranger's: an approval that follows from it says so", async () => {
  const { approval } = await openWaiting();
  expect(approval.after).toEqual([{ kind: "mcp", name: "client" }]);
});

test("a message sent again under its id is sent once; other text under the id is refused", async () => {
  const rig = open([says("Hello"), says("Again")]);
  const client = await connect(rig);
  const session = await newSession(rig);
  const send = (text: string, more: Record<string, unknown> = { session_id: session }) =>
    client.callTool({ name: "session_send", arguments: { text, message_id: "one", ...more } });
  const [first, second] = [await send("Hi"), await send("Hi")];
  expect(second.structuredContent).toEqual(first.structuredContent);
  expect(await send("Ho")).toMatchObject({
    isError: true,
    structuredContent: { error: { code: "idempotency_conflict" } },
  });
  const [begun, repeated] = [await send("New", {}), await send("New", {})];
  expect(repeated.structuredContent).toEqual(begun.structuredContent);
  expect(rig.model.requests).toHaveLength(2);
  expect(valueOf(await rig.client.listSessions()).sessions).toHaveLength(2);
});

test("[safety] without the operator's word no MCP client answers an approval, as a tool or as a task", async () => {
  const { rig, taskId, approval, paid } = await openWaiting();
  const client = await connect(rig);
  const { approvalId: id } = approval;
  const answered = await client.callTool({
    name: "approvals_answer",
    arguments: { approval_id: id, decision: "once" },
  });
  const refusal = { structuredContent: { error: { code: "mcp_approvals_off" } } };
  expect(answered).toMatchObject({ isError: true, ...refusal });
  const inputResponses = { [id]: { action: "accept", content: { decision: "once" } } };
  const updated = await ask({ rig }, "tasks/update", { taskId, inputResponses });
  expect(updated).toMatchObject({ error: { code: -32602, data: { code: "mcp_approvals_off" } } });
  expect(valueOf(await rig.client.listApprovals()).approvals).toHaveLength(1);
  expect(paid).toEqual([]);
});

test("[safety] with the operator's word, a profile that answers no approvals still answers none", async () => {
  const { rig, approval } = await openWaiting({ mcpApprovals: "on" });
  const rights = { sessions: "all", memory: "none", approvals: false } as const;
  const body = { tools: ["*"], ...rights };
  valueOf(await rig.client.putRightsProfile({ params: { name: "quiet" }, body }));
  const subject = "lane:mcp:client" as never;
  valueOf(await rig.client.assignRights({ body: { subject, profile: "quiet" } }));
  const client = await connect(rig);
  const answered = await client.callTool({
    name: "approvals_answer",
    arguments: { approval_id: approval.approvalId, decision: "once" },
  });
  expect(answered).toMatchObject({ structuredContent: { error: { code: "forbidden" } } });
});

test("a task waits with a form that fits the client, ignores answers to nothing, and goes on once it is answered", async () => {
  const { rig, taskId, approval, paid } = await openWaiting({ mcpApprovals: "on" });
  const { approvalId: id } = approval;
  const extensions = { [tasksExtension]: {} };
  const get = (capabilities: Record<string, unknown>) =>
    ask({ rig, capabilities }, "tasks/get", { taskId });
  const form = { inputRequests: { [id]: { params: { mode: "form" } } } };
  expect(await get({ extensions, elicitation: { form: {} } })).toMatchObject({
    result: { status: "input_required", ...form },
  });
  expect(await get({ extensions })).toMatchObject({ result: { status: "working" } });

  const update = (inputResponses: Record<string, unknown>) =>
    ask({ rig }, "tasks/update", { taskId, inputResponses });
  for (const ignored of [
    { [ids.make("approval")]: { action: "accept", content: { decision: "once" } } },
    { [id]: { action: "cancel" } },
    { [id]: { action: "accept", content: { decision: "always" } } },
    { [id]: { action: "accept", content: {} } },
    { [id]: "yes" },
  ])
    expect((await update(ignored)).error).toBeUndefined();
  expect(paid).toEqual([]);
  expect((await update({ [id]: { action: "accept", content: { decision: "once" } } })).error).toBe(
    undefined,
  );
  await expect
    .poll(async () => (await get({ extensions })).result)
    .toMatchObject({ status: "completed", result: { structuredContent: { text: "Done." } } });
  expect(paid).toHaveLength(1);
  expect((await update({ [id]: { action: "decline" } })).error).toBeUndefined();
});

test("a declined form denies the call", async () => {
  const { rig, taskId, approval, paid } = await openWaiting({ mcpApprovals: "on" });
  await ask({ rig }, "tasks/update", {
    taskId,
    inputResponses: { [approval.approvalId]: { action: "decline" } },
  });
  await expect
    .poll(async () => (await ask({ rig }, "tasks/get", { taskId })).result)
    .toMatchObject({ status: "completed" });
  expect(paid).toEqual([]);
});

test("a cancelled task ends as cancelled, also when it is cancelled again", async () => {
  const { rig, taskId } = await openWaiting();
  for (const _ of [1, 2])
    expect((await ask({ rig }, "tasks/cancel", { taskId })).error).toBe(undefined);
  await expect
    .poll(async () => (await ask({ rig }, "tasks/get", { taskId })).result)
    .toMatchObject({ status: "cancelled" });
});

test("requests that break the protocol get its own errors, and nothing is admitted", async () => {
  const rig = open();
  const post = async (body: unknown, headers: Record<string, string> = {}) => {
    const response = await rig.ask("POST", "/mcp", body, {
      accept: "application/json, text/event-stream",
      ...headers,
    });
    return [response.status, answer.parse(await response.json()).error?.code] as const;
  };
  expect(await post("{")).toEqual([400, -32700]);
  expect(await post({ hello: true })).toEqual([400, -32600]);
  expect(await post("x".repeat(5 * 1024 * 1024))).toEqual([413, -32000]);
  expect(await post({}, { authorization: "Bearer wrong" })).toEqual([401, -32000]);
  expect(await post({}, { origin: "https://elsewhere.example" })).toEqual([403, -32000]);
  const codeOf = async (asked: Promise<z.infer<typeof answer>>) => (await asked).error?.code;
  expect(await codeOf(ask({ rig }, "no/such"))).toBe(-32601);
  expect(await codeOf(ask({ rig }, "tasks/get", { taskId: "run_nonsense" }))).toBe(-32602);
  expect(await codeOf(ask({ rig }, "tasks/get", { taskId: ids.make("run") }))).toBe(-32602);
  const plain = { rig, capabilities: {} };
  expect(await codeOf(ask(plain, "tasks/get", { taskId: ids.make("run") }))).toBe(-32021);
  const call = { name: "no_such_tool", arguments: {} };
  expect(await codeOf(ask({ rig }, "tools/call", call))).toBe(-32602);
  const read = { uri: "file:///etc/passwd" };
  expect(await codeOf(ask({ rig }, "resources/read", read))).toBe(-32602);
  const old = { "io.modelcontextprotocol/protocolVersion": "1999-01-01" };
  const wrong = { jsonrpc: "2.0", id: 1, method: "tools/list", params: { _meta: old } };
  const [status] = await post(wrong, { "mcp-protocol-version": "1999-01-01" });
  expect(status).toBe(400);
  const broken = { name: "session_send", arguments: { text: "", message_id: "a b" } };
  expect(await ask({ rig }, "tools/call", broken)).toMatchObject({ result: { isError: true } });
  expect(valueOf(await rig.client.listSessions()).sessions).toEqual([]);
});

test("a message that no session can hold is refused, and begins none", async () => {
  const rig = open();
  const client = await connect(rig);
  for (const [text, code] of [
    ["x".repeat(900_000), "payload_too_large"],
    [" ", "invalid_request"],
  ] as const)
    expect(
      await client.callTool({ name: "session_send", arguments: { text, message_id: code } }),
    ).toMatchObject({ isError: true, structuredContent: { error: { code } } });
  expect(valueOf(await rig.client.listSessions()).sessions).toEqual([]);
});

test("schedules are created once under a request id, listed and removed", async () => {
  const rig = open();
  const client = await connect(rig);
  const session = await newSession(rig);
  const create = (more: Record<string, unknown> = {}) =>
    client.callTool({
      name: "schedule_create",
      arguments: {
        title: "Morning",
        prompt: "Good morning",
        times: { days: ["mon"], at: ["08:00"] },
        time_zone: "Europe/Berlin",
        session_id: session,
        request_id: "one",
        ...more,
      },
    });
  const view = z.looseObject({ schedule: z.looseObject({ schedule_id: z.string() }) });
  const { schedule } = view.parse((await create()).structuredContent);
  expect(view.parse((await create()).structuredContent).schedule).toEqual(schedule);
  expect(await create({ request_id: "two", time_zone: "Mars" })).toMatchObject({
    isError: true,
    structuredContent: { error: { code: "invalid_request" } },
  });
  expect(await create({ request_id: "two", lane: "web:x" })).toMatchObject({ isError: true });
  const list = async () =>
    (await client.callTool({ name: "schedules_list", arguments: {} })).structuredContent;
  expect(await list()).toMatchObject({
    schedules: [{ schedule_id: schedule.schedule_id, report: "always" }],
  });
  const quiet = await create({ request_id: "three", report: "changes" });
  expect(quiet.structuredContent).toMatchObject({ schedule: { report: "changes" } });
  const other = view.parse(quiet.structuredContent).schedule.schedule_id;
  await client.callTool({ name: "schedule_remove", arguments: { schedule_id: other } });
  const { schedule_id } = schedule;
  await client.callTool({ name: "schedule_remove", arguments: { schedule_id } });
  expect(await list()).toEqual({ schedules: [] });
});

test("a client without tasks gets the run's id when the wait is over, and reads its end with it", async () => {
  const { promise, resolve } = Promise.withResolvers<void>();
  const rig = open([[{ kind: "gate", opened: promise }, says("Late")]]);
  const client = await connect(rig);
  const sent = await client.callTool({
    name: "session_send",
    arguments: { text: "Hi", message_id: "one", wait_seconds: 1 },
  });
  const { run_id } = z.looseObject({ run_id: z.string() }).parse(sent.structuredContent);
  expect(JSON.stringify(sent.content)).toContain("run_read");
  const read = client.callTool({ name: "run_read", arguments: { run_id, wait_seconds: 60 } });
  resolve();
  expect((await read).structuredContent).toMatchObject({ state: "completed", text: "Late" });
});
