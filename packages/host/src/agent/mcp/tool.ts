import type { Store, Tool, ToolResult } from "@holdfast/engine";
import { jsonObject } from "@holdfast/protocol";

import type { McpServer } from "../../ops/config/mcp-servers.ts";
import type { OfferedTool } from "./offered-tools.ts";
import { readResult } from "./server-tool.ts";
import type { ManagedServer } from "./server.ts";

export interface ServerToolDeps {
  readonly name: string;
  readonly server: McpServer;
  readonly managed: ManagedServer;
  readonly store: Pick<Store, "putBlob">;
}

const defaultTimeLimitMs = 120_000;
/** A server that is just being connected is waited for; nothing has been sent to it yet. */
const connectionMs = 5_000;
/** The engine's own limit comes first, and says so. */
const timeoutMarginMs = 10_000;

/** A tool of a server, as the engine sees it. */
export function createServerTool(parts: ServerToolDeps, offered: OfferedTool): Tool {
  const { name: server, managed: kept, store } = parts;
  const { timeLimitMs = defaultTimeLimitMs, readOnlyHints = "ignored" } = parts.server;
  // What a server says of its own tools binds nobody, unless the operator believes it.
  const isHarmless = offered.readsOnly && readOnlyHints === "believed";
  return {
    name: offered.name,
    description: offered.description,
    input: offered.input,
    replay: isHarmless ? "safe" : "never",
    timeLimitMs,
    approval: () => (isHarmless ? "none" : "ask"),
    async run({ owner, input }, hands) {
      const decoded = jsonObject.safeParse(input);
      if (!decoded.success) return failed("The arguments are not an object. Nothing was sent.");
      const connection = await kept.connection(connectionMs, hands.signal);
      if (connection === null)
        return failed(
          `The MCP server ${server} is not connected, so nothing was sent to it. ${kept.lastError() ?? ""}`,
        );
      if (hands.signal.aborted) return { outcome: "cancelled", output: "Nothing was sent." };
      try {
        const work = { ...hands, timeLimitMs: timeLimitMs + timeoutMarginMs };
        return await readResult(
          { store, owner },
          await connection.call(offered, decoded.data, work),
        );
      } catch (error) {
        if (hands.signal.aborted) return stopped(isHarmless ? "cancelled" : "unknown");
        const { outcome, message: words } = kept.classifyFailure(connection, error);
        return outcome === "failed"
          ? failed(words)
          : { outcome, output: `${words} Whether ${server} has done it is not known.` };
      }
    },
  };
}

function failed(output: string): ToolResult {
  return { outcome: "failed", output: output.trim() };
}

function stopped(outcome: "cancelled" | "unknown"): ToolResult {
  return {
    outcome,
    output: "The server was told to stop. Whether it had done it by then is not known.",
  };
}
