import { type Client, sentenceOf } from "@holdfast/client";
import type { McpServerView } from "@holdfast/protocol";

import type { Config } from "../../ops/config/settings.ts";
import type { McpServerState } from "../../agent/mcp/index.ts";
import { openSecrets } from "../../ops/secrets/secrets.ts";
import { bad, care, type DoctorFinding, good } from "./finding.ts";

/** Of all servers together: whoever has not answered by then is said to be away. */
const patienceMs = 10_000;

type Seen = Pick<McpServerState | McpServerView, "name" | "state" | "lastError" | "said"> & {
  readonly tools: readonly unknown[];
  readonly leftOut: readonly string[];
};

/** How the host that serves sees its servers. */
export async function lookAtServers(client: Client): Promise<DoctorFinding[]> {
  const listed = await client.listMcpServers();
  if (!listed.ok) return [bad("MCP", sentenceOf(listed.error), "The host's log says more.")];
  return listed.value.servers.flatMap(judgeServer);
}

/** Where nobody serves each is connected once, asked for its tools, and left. */
export async function tryServers({ mcp: servers, home }: Config): Promise<DoctorFinding[]> {
  if (Object.keys(servers.value).length === 0) return [];
  const { openMcp } = await import("../../agent/mcp/index.ts");
  const mcp = openMcp({
    servers: servers.value,
    environment: process.env,
    secrets: openSecrets(home.value, () => undefined),
    // No tool is called.
    store: { putBlob: () => Promise.reject(new Error("Nothing is kept while servers are tried.")) },
    say: () => undefined,
    times: { firstMs: patienceMs },
  });
  mcp.start();
  try {
    await mcp.tools();
    return mcp.states().flatMap(judgeServer);
  } finally {
    await mcp.stop();
  }
}

function judgeServer({ name, state, tools, leftOut, lastError, said }: Seen): DoctorFinding[] {
  const what = `MCP ${name}`;
  const why = lastError ?? said.at(-1) ?? "it has not answered in time";
  switch (state) {
    case "ready": {
      const words = `reachable, ${tools.length} ${tools.length === 1 ? "tool" : "tools"}`;
      const mend = "GET /api/mcp says which ones, and why.";
      return [
        leftOut.length === 0
          ? good(what, words)
          : care(what, `${words}; ${leftOut.length} cannot be used`, mend),
      ];
    }
    case "stopped":
      return [care(what, "not connected here", "Ask the process that has the role runner.")];
    case "starting":
    case "away":
      return [
        bad(what, `away: ${why}`, "Look at its command or url, its keys, and whether it runs."),
      ];
  }
}
