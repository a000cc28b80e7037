import { z } from "zod";

import { defineRoute } from "./define.ts";
import { idempotencyHeader } from "./sessions.ts";

/** The current state of one of the operator's MCP servers. */
const mcpServerView = z.looseObject({
  name: z.string(),
  kind: z.enum(["program", "http"]),
  state: z.enum(["starting", "ready", "away", "stopped"]),
  tools: z.array(
    z.looseObject({
      /** The name agents use. */
      name: z.string(),
      /** The server's own name for it. */
      remote: z.string(),
    }),
  ),
  /** What the server offers but cannot be used, and why. */
  leftOut: z.array(z.string()),
  /** Why it is away, or was the last time. */
  lastError: z.string().nullable(),
  /** The last lines it wrote to its standard error. */
  said: z.array(z.string()),
});
export type McpServerView = z.infer<typeof mcpServerView>;

const server = z.strictObject({ name: z.string().min(1).max(64) });

export const mcpRoutes = {
  listMcpServers: defineRoute({
    method: "GET",
    path: "/api/mcp",
    summary: "The MCP servers of this host, and what they offer",
    access: "principal",
    answer: {
      media: "json",
      status: 200,
      schema: z.looseObject({ servers: z.array(mcpServerView) }),
    },
    problems: [],
    repeat: "safe",
  }),
  restartMcpServer: defineRoute({
    method: "POST",
    path: "/api/mcp/:name/restart",
    summary: "Connect an MCP server anew; calls that it has not answered are given up",
    access: "principal",
    params: server,
    headers: idempotencyHeader,
    answer: { media: "json", status: 202, schema: z.looseObject({ server: mcpServerView }) },
    problems: ["mcp_server_not_found"],
    repeat: "key",
  }),
  putMcpSecret: defineRoute({
    method: "PUT",
    path: "/api/secrets/mcp/:name",
    summary: "Store a key that a server's settings name, for the server's own address alone",
    access: "principal",
    params: server,
    body: z.strictObject({
      key: z.string().regex(/^[\x21-\x7e]{1,1000}$/, "expected 1 to 1000 printable characters"),
      /** Which secret, if the settings name several. */
      secret: z.string().min(1).max(200).optional(),
    }),
    example: { key: "the-key-that-the-server-gave" },
    answer: { media: "none", status: 204 },
    problems: ["mcp_server_not_found"],
    repeat: "safe",
  }),
  deleteMcpSecret: defineRoute({
    method: "DELETE",
    path: "/api/secrets/mcp/:name",
    summary: "Forget the keys that were stored for a server",
    access: "principal",
    params: server,
    answer: { media: "none", status: 204 },
    problems: ["mcp_server_not_found"],
    repeat: "safe",
  }),
} as const;
