import type { Problem } from "@holdfast/protocol";
import type { Context } from "hono";
import { openRightsResolver } from "../../rights/resolve-rights.ts";
import type { Principal } from "../auth/principal.ts";
import { createCallerClient } from "../caller-client.ts";
import {
  mountProtocolRoute,
  type Protocol,
  type ProtocolCall,
  type ProtocolError,
} from "../http/protocol.ts";
import type { HostEnv } from "../http/routing.ts";
import type { ProtocolDeps } from "../protocols.ts";
import { createApprovalAnswers } from "./answer-approvals.ts";
import type { McpCaller } from "./caller.ts";
import type { HandleMcp } from "./handler.ts";

/** What the SDK refuses by itself, in the protocol's own form. */
const maxRequestBytes = 4 * 1024 * 1024;
const prefix = "/mcp";

/** MCP over streamable HTTP. */
export function mcpProtocol(deps: ProtocolDeps): Protocol {
  const rights = openRightsResolver(deps.log.store.register);
  const answers = createApprovalAnswers(rights, deps.mcpApprovals);
  let handling: Promise<HandleMcp> | undefined;

  /** Loaded on demand: most hosts serve no MCP client, and the SDK is large. */
  async function loadHandling(): Promise<HandleMcp> {
    const { createMcpHandling } = await import("./handler.ts");
    return createMcpHandling({ ...deps, answers, maxRequestBytes });
  }

  async function handle({ c, principal }: ProtocolCall): Promise<Response> {
    const handleMcp = await (handling ??= loadHandling());
    return handleMcp(c.req.raw, callerOf(deps, c, principal));
  }

  return {
    name: "mcp",
    prefix,
    routes: (["POST", "GET", "DELETE"] as const).map((method) =>
      mountProtocolRoute(deps, { method, path: prefix, largestBody: 2 * maxRequestBytes, handle }),
    ),
    encodeProblem,
  };
}

/** Before a request reaches MCP its id is unknown. */
function encodeProblem({ title, detail, next, code }: Problem): ProtocolError {
  const message = [title, detail, next].filter((text) => text !== undefined).join(" ");
  return { body: { jsonrpc: "2.0", id: null, error: { code: -32_000, message, data: { code } } } };
}

function callerOf(deps: ProtocolDeps, c: Context<HostEnv>, principal: Principal): McpCaller {
  const { origin, basePath = "" } = deps;
  return {
    principal,
    owner: principal.ownerId,
    client: createCallerClient(deps, c),
    pageAddress: `${origin ?? new URL(c.req.url).origin}${basePath}/`,
  };
}
