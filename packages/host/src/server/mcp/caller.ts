import type { Client } from "@holdfast/client";
import type { LaneKey, OwnerId } from "@holdfast/protocol";
import type { Principal } from "../auth/principal.ts";

/** Who calls a tool, and the API as they may use it. */
export interface McpCaller {
  readonly owner: OwnerId;
  readonly principal: Principal;
  /** Sends requests to the API with the caller's own credentials: what these may not do, no tool can. */
  readonly client: Client;
  /** Where the caller finds the page. */
  readonly pageAddress: string;
}

/** Messages of all MCP clients: its rights can be narrowed with `holdfast rights give lane:mcp:client …`. */
export const mcpLane = "mcp:client" as LaneKey;
