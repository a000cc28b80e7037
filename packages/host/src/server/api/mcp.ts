import { type McpServerView, routes } from "@holdfast/protocol";

import type { Route } from "../http/routing.ts";
import type { McpServerState } from "../../agent/mcp/mcp.ts";
import { answer, type Call, mountCall, problem, type ProblemReply } from "./endpoint.ts";
import type { ApiDeps } from "./deps.ts";

export function mcpRoutes(deps: ApiDeps): Route[] {
  const { mcp, secrets } = deps;

  /** The key is stored for the address the operator configured for the server, and for no other. */
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
    for (const secret of keys.secrets) {
      const stored = isProvider(secret) ? null : secrets.read(secret);
      if (stored !== null && isSameOrigin(stored.baseUrl, keys.url ?? ""))
        await secrets.remove(secret);
    }
    mcp?.restart(name);
    return answer(undefined);
  }

  return [
    mountCall(deps, "listMcpServers", async () =>
      answer({ servers: mcp?.states().map(viewServer) ?? [] }),
    ),
    mountCall(deps, "restartMcpServer", async ({ params: { name } }) => {
      const state = mcp?.restart(name) ?? null;
      return state === null
        ? problem("mcp_server_not_found")
        : answer({ server: viewServer(state) });
    }),
    mountCall(deps, "putMcpSecret", putKey),
    mountCall(deps, "deleteMcpSecret", deleteKeys),
  ];
}

/** With a single key there is nothing to choose. */
function chooseSecret(named: readonly string[], requested: string | undefined): string | null {
  if (requested === undefined) return named.length === 1 ? (named[0] ?? null) : null;
  return named.includes(requested) ? requested : null;
}

/** Provider keys are stored under these names, for the providers' own addresses. */
function isProvider(name: string): boolean {
  return routes.putSecret.params.safeParse({ provider: name }).success;
}

function isSameOrigin(a: string, b: string): boolean {
  return URL.parse(a)?.origin === URL.parse(b)?.origin;
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
