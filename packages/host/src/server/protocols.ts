import type { Fetch } from "@holdfast/client";
import { aiSdkProtocol } from "./ai-sdk/ai-sdk.ts";
import type { ApiRouteDeps } from "./api/routes.ts";
import type { Protocol } from "./http/protocol.ts";
import { mcpProtocol } from "./mcp/mcp-protocol.ts";
import { openAiProtocol } from "./openai/openai.ts";

export interface ProtocolDeps extends ApiRouteDeps {
  /** The API in this process. */
  readonly callApi: Fetch;
  /** Whether MCP clients may answer approvals. */
  readonly mcpApprovals: "on" | "off";
  /** The public origin if a reverse proxy serves the host. */
  readonly origin: string | undefined;
}

/** Everything that is served besides the page and the contract under `/api`. */
export function createProtocols(deps: ProtocolDeps): readonly Protocol[] {
  return [openAiProtocol(deps), aiSdkProtocol(deps), mcpProtocol(deps)];
}
