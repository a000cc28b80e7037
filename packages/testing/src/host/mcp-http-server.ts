import { createServer, type IncomingMessage, type ServerResponse } from "node:http";

/** An MCP server over HTTP whose calls end as their names say, and a log of who came. */
export interface McpHttpRig {
  readonly url: string;
  readonly origin: string;
  readonly heard: { readonly method: string; readonly authorization: string | undefined }[];
  /** The names of the called tools, one per call. */
  readonly calls: string[];
  readonly close: () => Promise<void>;
}

export type Answer = (
  message: { id?: number; method: string; params?: { name?: string; protocolVersion?: string } },
  response: ServerResponse,
) => boolean;

const names = ["answer", "cut", "end", "forgotten", "overloaded", "elsewhere"];

/** `first` may answer in its own way; everything else is answered as by a sound server. */
export async function openMcpHttpServer(first: Answer = () => false): Promise<McpHttpRig> {
  const received: McpHttpRig["heard"] = [];
  const calls: string[] = [];

  function answer(request: IncomingMessage, response: ServerResponse, body: string): void {
    const { method = "", headers } = request;
    received.push({ method, authorization: headers.authorization });
    if (method !== "POST") return void response.writeHead(method === "GET" ? 405 : 200).end();
    const message = JSON.parse(body) as Parameters<Answer>[0];
    if (message.method === "tools/call") calls.push(message.params?.name ?? "");
    if (first(message, response)) return;
    const { id, params } = message;
    if (id === undefined) return void response.writeHead(202).end();
    const inputSchema = { type: "object" };
    const results: Readonly<Record<string, object>> = {
      initialize: {
        protocolVersion: params?.protocolVersion,
        capabilities: { tools: {} },
        serverInfo: { name: "web", version: "1" },
      },
      "tools/list": { tools: names.map((name) => ({ name, inputSchema })) },
      "tools/call": { content: [{ type: "text", text: "Done." }] },
    };
    const result = results[message.method];
    const error = { code: -32_601, message: "Method not found" };
    const payload = { jsonrpc: "2.0", id, ...(result === undefined ? { error } : { result }) };
    const status = result === undefined ? 404 : 200;
    response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(payload));
  }

  const server = createServer((request, response) => {
    let body = "";
    request.on("data", (bytes: Buffer) => (body += bytes.toString()));
    request.on("end", () => answer(request, response, body));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  const port = typeof address === "object" && address !== null ? address.port : 0;
  const origin = `http://127.0.0.1:${port}`;
  return {
    url: `${origin}/mcp`,
    origin,
    heard: received,
    calls,
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
