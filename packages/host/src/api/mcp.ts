import type { McpServerView } from "@holdfast/protocol";

import type { Route } from "../http/index.ts";
import type { McpServerState } from "../mcp/index.ts";
import { mountCall } from "./contract.ts";
import type { ApiParts } from "./parts.ts";
import { answer, problem } from "./reply.ts";

/** The operator's MCP servers: how they are, and a new beginning for one that hangs. */
export function mcpRoutes(parts: ApiParts): Route[] {
  const { mcp } = parts;
  return [
    mountCall(parts, "listMcpServers", async () =>
      answer({ servers: mcp?.states().map(view) ?? [] }),
    ),
    mountCall(parts, "restartMcpServer", async ({ params: { name } }) => {
      const state = mcp?.restart(name) ?? null;
      return state === null ? problem("mcp_server_not_found") : answer({ server: view(state) });
    }),
  ];
}

function view({ tools, leftOut, said, ...state }: McpServerState): McpServerView {
  return {
    ...state,
    tools: tools.map((tool) => ({ ...tool })),
    leftOut: [...leftOut],
    said: [...said],
  };
}
