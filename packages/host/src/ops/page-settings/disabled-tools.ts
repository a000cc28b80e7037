import { type AgentRequest, shortHash } from "@holdfast/engine";
import type { AgentTools } from "../../agent/mcp/agent-tools.ts";

/** Whether a tool is switched off, by its name or by a pattern with a star at the end. */
export function isDisabled(name: string, disabled: readonly string[]): boolean {
  return disabled.some((pattern) =>
    pattern.endsWith("*") ? name.startsWith(pattern.slice(0, -1)) : name === pattern,
  );
}

/** Leaves out the tools that are switched off now. Agents without any switched off stay as they were. */
export function withoutDisabled(
  tools: (request: AgentRequest) => Promise<AgentTools>,
  disabled: () => readonly string[],
): (request: AgentRequest) => Promise<AgentTools> {
  return async (request) => {
    const available = await tools(request);
    const kept = [...available.tools].filter(([name]) => !isDisabled(name, disabled()));
    if (kept.length === available.tools.size) return available;
    const off = `off=${shortHash(kept.map(([name]) => name).join(" "))}`;
    const signature = [available.signature, off].filter((part) => part !== "").join(" ");
    return { tools: new Map(kept), signature };
  };
}
