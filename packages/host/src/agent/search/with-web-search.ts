import { type AgentRequest, shortHash, type Tool } from "@holdfast/engine";
import type { AgentTools } from "../mcp/agent-tools.ts";
import { createWebSearchTool } from "../tools/web-search.ts";
import type { WebSearch } from "./web-search.ts";

/** The tool that searches the web; none if no provider is set up. */
export function searchTools(
  search: Pick<WebSearch, "account" | "search"> | undefined,
): ReadonlyMap<string, Tool> {
  const account = search?.account() ?? null;
  if (search === undefined || account === null) return new Map();
  const tool = createWebSearchTool(search, account);
  return new Map([[tool.name, tool]]);
}

/** Adds the search as the last tool. Agents without a provider stay as they are. */
export function withWebSearch(
  tools: (request: AgentRequest) => Promise<AgentTools>,
  search: Pick<WebSearch, "account" | "search"> | undefined,
): (request: AgentRequest) => Promise<AgentTools> {
  return async (request) => {
    const available = await tools(request);
    const account = search?.account() ?? null;
    if (account === null) return available;
    const { signature } = available;
    const own = `search=${shortHash(`${account.provider} ${account.address}`)}`;
    return {
      tools: new Map([...available.tools, ...searchTools(search)]),
      signature: signature === "" ? own : `${signature} ${own}`,
    };
  };
}
