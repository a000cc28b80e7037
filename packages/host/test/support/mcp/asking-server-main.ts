/** An MCP server of the newest protocol whose tools ask people things. */
import { acceptedContent, inputRequired, McpServer } from "@modelcontextprotocol/server";
import { serveStdio } from "@modelcontextprotocol/server/stdio";
import { z } from "zod";

const order = z.object({ size: z.enum(["S", "M"]), count: z.int().min(1).max(9) });

serveStdio(() => {
  const server = new McpServer({ name: "shop", version: "1.0.0" }, { capabilities: { tools: {} } });
  server.registerTool("order", { inputSchema: z.object({}) }, async (_, ctx) => {
    const given = acceptedContent(ctx.mcpReq.inputResponses, "order", order);
    if (given !== undefined)
      return { content: [{ type: "text", text: `${given.count} of ${given.size}` }] };
    if (ctx.mcpReq.inputResponses !== undefined)
      return { content: [{ type: "text", text: "nothing was ordered" }] };
    const message = "Which one?";
    const ask = inputRequired.elicit({ message, requestedSchema: order });
    return inputRequired({ inputRequests: { order: ask } });
  });
  server.registerTool("nag", { inputSchema: z.object({}) }, async () => {
    const message = "Once more?";
    const ask = inputRequired.elicit({ message, requestedSchema: z.object({ more: z.boolean() }) });
    return inputRequired({ inputRequests: { again: ask } });
  });
  return server;
});
