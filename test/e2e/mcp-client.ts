import {
  type CallToolResult,
  Client,
  isJSONRPCErrorResponse,
  isJSONRPCResponse,
  type JSONRPCMessage,
  type JSONRPCRequest,
  StreamableHTTPClientTransport,
  type Transport,
} from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import {
  type ApplicationElicitResult,
  createTaskSessionFromClient,
  type JsonRpcResponse,
} from "@modelcontextprotocol/ext-tasks/client";
import { type JsonValue, toJsonValue } from "@modelcontextprotocol/ext-tasks/core";
import { onTestFinished } from "vitest";

const newest = "2026-07-28";
const clientInfo = { name: "a-client-of-this-test", version: "1.0.0" };
const tasksExtension = "io.modelcontextprotocol/tasks";

export type Generation = "2026-07-28" | "2025-11-25";

export function overHttp(address: string, token: string): Transport {
  return new StreamableHTTPClientTransport(new URL("mcp", address), {
    requestInit: { headers: { authorization: `Bearer ${token}` } },
  });
}

/** The command that MCP clients start. */
export function overStdio(home: string): Transport {
  return new StdioClientTransport({
    command: process.execPath,
    args: [new URL("../../packages/host/bin/holdfast.mjs", import.meta.url).pathname, "mcp"],
    env: { PATH: process.env["PATH"] ?? "", HOLDFAST_HOME: home },
  });
}

/** The client of the SDK, as an application uses it. */
export async function connectMcp(
  transport: Transport,
  generation: Generation = newest,
  capabilities: Record<string, unknown> = {},
): Promise<Client> {
  const negotiation =
    generation === newest ? { versionNegotiation: { mode: "auto" as const } } : {};
  const client = new Client(clientInfo, { capabilities, ...negotiation });
  await client.connect(transport);
  onTestFinished(() => client.close());
  return client;
}

export interface McpTasks {
  readonly client: Client;
  readonly session: ReturnType<typeof createTaskSessionFromClient>;
  /** One request as it is sent, with this client's capabilities. */
  readonly ask: (method: string, params: Record<string, JsonValue>) => Promise<JsonRpcResponse>;
}

export interface TaskOptions {
  /** By default the client cannot ask its user anything. */
  readonly elicit?: (params: Readonly<Record<string, JsonValue>>) => ApplicationElicitResult;
  readonly extensions?: Record<string, JsonValue>;
}

/** The tasks extension's own client on top of the SDK's. */
export async function connectTasks(
  transport: Transport,
  { elicit, extensions = { [tasksExtension]: {} } }: TaskOptions = {},
): Promise<McpTasks> {
  const clientCapabilities = {
    extensions,
    ...(elicit !== undefined && { elicitation: { form: {}, url: {} } }),
  };
  const client = await connectMcp(transport, newest, clientCapabilities);
  const dispatch = createDispatch(transport);
  const session = createTaskSessionFromClient(client, {
    endpointId: "holdfast",
    rawDispatch: dispatch,
    v2RequestFraming: { protocolVersion: newest, clientInfo, clientCapabilities },
    ...(elicit !== undefined && {
      async onInputRequest(request) {
        if (request.kind !== "elicitation") throw new Error(`Unexpected ${request.kind}`);
        // The result fits the request, which the compiler cannot see.
        return elicit(request.params) as never;
      },
    }),
  });
  onTestFinished(() => session.close());
  const meta = {
    "io.modelcontextprotocol/protocolVersion": newest,
    "io.modelcontextprotocol/clientInfo": clientInfo,
    "io.modelcontextprotocol/clientCapabilities": clientCapabilities,
  };
  const ask: McpTasks["ask"] = (method, params) =>
    dispatch(toJsonValue({ method, params: { ...params, _meta: meta } }));
  return { client, session, ask };
}

/** Sends requests beside the client's own on its transport: the SDK has no call for results that it does not know. */
function createDispatch(transport: Transport): (request: JsonValue) => Promise<JsonRpcResponse> {
  const waiting = new Map<string, (message: JSONRPCMessage) => void>();
  const passOn = transport.onmessage;
  const onmessage: Transport["onmessage"] = (message, extra) => {
    const take = isJSONRPCResponse(message) ? waiting.get(String(message.id)) : undefined;
    if (take === undefined) passOn?.(message, extra);
    else take(message);
  };
  Object.assign(transport, { onmessage });
  let count = 0;
  return async (request) => {
    count += 1;
    const id = `raw-${count}`;
    const { promise, resolve } = Promise.withResolvers<JSONRPCMessage>();
    waiting.set(id, resolve);
    const message = { jsonrpc: "2.0", id, ...(request as object) } as JSONRPCRequest;
    try {
      await transport.send(message);
      const answer = await promise;
      if (isJSONRPCErrorResponse(answer))
        return { kind: "error", error: toJsonValue(answer.error) as never };
      return { kind: "result", result: toJsonValue("result" in answer ? answer.result : null) };
    } finally {
      waiting.delete(id);
    }
  };
}

/** What `session_send` and `run_read` answer with. */
export interface RunAnswer {
  readonly session_id: string;
  readonly run_id: string;
  readonly state: string;
  readonly text?: string;
}

export function runAnswer({ structuredContent }: Pick<CallToolResult, "structuredContent">) {
  return structuredContent as RunAnswer;
}

export function shownText({ content }: Pick<CallToolResult, "content">): string {
  return content.map((block) => (block.type === "text" ? block.text : "")).join("");
}
