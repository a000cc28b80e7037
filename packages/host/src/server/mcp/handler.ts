import { type AuthInfo, createMcpHandler } from "@modelcontextprotocol/server";
import type { McpCaller } from "./caller.ts";
import { createMcpServer, type McpServerDeps } from "./create-server.ts";

export interface McpHandlerDeps extends McpServerDeps {
  readonly closing: AbortSignal;
  readonly maxRequestBytes: number;
}

export type HandleMcp = (request: Request, caller: McpCaller) => Promise<Response>;

/** Clients of the 2026-07-28 generation and, without tasks, of the one before. */
export function createMcpHandling(deps: McpHandlerDeps): HandleMcp {
  const callers = new WeakMap<AuthInfo, McpCaller>();
  const handler = createMcpHandler(
    ({ authInfo, era }) => {
      const caller = authInfo && callers.get(authInfo);
      if (caller === undefined) throw new Error("A request without a principal reached MCP.");
      return createMcpServer(deps, caller, era);
    },
    { maxRequestBodySize: deps.maxRequestBytes },
  );
  deps.closing.addEventListener("abort", () => void handler.close(), { once: true });
  return (request, caller) => {
    // The SDK hands it through to the server of this request.
    const authInfo: AuthInfo = { token: "", clientId: caller.owner, scopes: [] };
    callers.set(authInfo, caller);
    return handler.fetch(request, { authInfo });
  };
}
