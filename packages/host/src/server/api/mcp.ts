import { type McpServerView, routes } from "@holdfast/protocol";

import type { Route } from "../http/routing.ts";
import type { McpServerState } from "../../agent/mcp/mcp.ts";
import { type Call, mountCall } from "./endpoint.ts";
import type { ApiDeps } from "./deps.ts";
import { answer, problem, type ProblemReply } from "./reply.ts";

/** The operator's MCP servers: how they are, and a new beginning for one that hangs. */
export function mcpRoutes(parts: ApiDeps): Route[] {
  const { mcp, secrets } = parts;

  /** The key goes to the address that the operator has written down for the server, and to no other. */
  async function putKey({ params: { name }, body }: Call<"putMcpSecret">) {
    const keys = mcp?.keysOf(name) ?? null;
    if (keys === null) return problem("mcp_server_not_found");
    const chosen = chooseSecret(keys.secrets, body.secret);
    if (keys.url === null || chosen === null)
      return invalidSecret(
        "expected one of the stored keys that the server's settings name in `headers`",
      );
    const stored = secrets.read(chosen);
    if (isProvider(chosen) || (stored !== null && !isSameOrigin(stored.baseUrl, keys.url)))
      return invalidSecret(
        `${chosen} is kept for another address: name it otherwise in the settings`,
      );
    await secrets.put(chosen, { key: body.key, baseUrl: keys.url });
    mcp?.restart(name);
    return answer(undefined);
  }

  async function deleteKeys({ params: { name } }: Call<"deleteMcpSecret">) {
    const keys = mcp?.keysOf(name) ?? null;
    if (keys === null) return problem("mcp_server_not_found");
    for (const each of keys.secrets) {
      const stored = isProvider(each) ? null : secrets.read(each);
      if (stored !== null && isSameOrigin(stored.baseUrl, keys.url ?? ""))
        await secrets.remove(each);
    }
    mcp?.restart(name);
    return answer(undefined);
  }

  return [
    mountCall(parts, "listMcpServers", async () =>
      answer({ servers: mcp?.states().map(viewServer) ?? [] }),
    ),
    mountCall(parts, "restartMcpServer", async ({ params: { name } }) => {
      const state = mcp?.restart(name) ?? null;
      return state === null
        ? problem("mcp_server_not_found")
        : answer({ server: viewServer(state) });
    }),
    mountCall(parts, "putMcpSecret", putKey),
    mountCall(parts, "deleteMcpSecret", deleteKeys),
  ];
}

/** Where there is one there is nothing to choose. */
function chooseSecret(named: readonly string[], wanted: string | undefined): string | null {
  if (wanted === undefined) return named.length === 1 ? (named[0] ?? null) : null;
  return named.includes(wanted) ? wanted : null;
}

/** Their keys are stored under these names, for their own addresses. */
function isProvider(name: string): boolean {
  return routes.putSecret.params.safeParse({ provider: name }).success;
}

function isSameOrigin(one: string, other: string): boolean {
  return URL.parse(one)?.origin === URL.parse(other)?.origin;
}

function invalidSecret(message: string): ProblemReply {
  return problem("invalid_request", { errors: [{ path: "body.secret", message }] });
}

function viewServer({ tools, leftOut, said, ...state }: McpServerState): McpServerView {
  return {
    ...state,
    tools: tools.map((tool) => ({ ...tool })),
    leftOut: [...leftOut],
    said: [...said],
  };
}
