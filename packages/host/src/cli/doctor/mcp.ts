import { type Client, describeError } from "@holdfast/client";
import type { McpServerView } from "@holdfast/protocol";

import type { Config } from "../../ops/config/settings.ts";
import type { McpServerState } from "../../agent/mcp/mcp.ts";
import type { OpenedSecrets } from "../../ops/secrets/secrets.ts";
import { withSecrets } from "../connection/with-secrets.ts";
import { errorFinding, warningFinding, type DoctorFinding, okFinding } from "./finding.ts";

/** For all servers together: one that has not answered by then is reported as away. */
const timeoutMs = 10_000;

type McpServerStatus = Pick<
  McpServerState | McpServerView,
  "name" | "state" | "lastError" | "said" | "switch" | "hidesAdded" | "signIn"
> & {
  readonly tools: readonly unknown[];
  readonly leftOut: readonly string[];
};

/** The servers as the serving host sees them. */
export async function checkServedMcp(client: Client): Promise<DoctorFinding[]> {
  const listed = await client.listMcpServers();
  if (!listed.ok)
    return [errorFinding("MCP", describeError(listed.error), "The host's log says more.")];
  return listed.value.servers.flatMap(mcpFindings);
}

/** Without a serving host, connects to each server once, lists its tools, and disconnects. */
export async function checkConfiguredMcp(config: Config): Promise<DoctorFinding[]> {
  const checked = await withSecrets(config, (opened) => tryServers(config, opened));
  return checked.ok ? checked.value : [errorFinding("MCP", checked.failure.message, "See above.")];
}

async function tryServers(
  config: Config,
  { secrets, rows }: OpenedSecrets,
): Promise<DoctorFinding[]> {
  const { mcp: servers } = config;
  const { openAddedServers } = await import("../../agent/mcp/added-servers.ts");
  const added = openAddedServers(rows);
  if (Object.keys(servers.value).length === 0 && added.list().size === 0) return [];
  const { openMcp } = await import("../../agent/mcp/mcp.ts");
  const { confinementFor } = await import("../../agent/toolset.ts");
  const mcp = openMcp({
    servers: servers.value,
    added,
    confinement: confinementFor(config),
    environment: process.env,
    secrets,
    // No tool is called, so nothing is stored.
    store: { putBlob: () => Promise.reject(new Error("Nothing is kept while servers are tried.")) },
    log: () => undefined,
    times: { firstMs: timeoutMs },
  });
  mcp.start();
  try {
    await mcp.tools();
    return mcp.states().flatMap(mcpFindings);
  } finally {
    await mcp.stop();
  }
}

function mcpFindings(server: McpServerStatus): DoctorFinding[] {
  if (!server.hidesAdded) return stateFindings(server);
  const { name } = server;
  const hidden = warningFinding(
    `MCP ${name}`,
    "config.json has a server of the same name as an added one, and the one in config.json is used",
    `Rename it in config.json, or run: holdfast mcp-servers remove ${name}`,
  );
  return [hidden, ...stateFindings(server)];
}

function stateFindings({
  name,
  state,
  tools,
  leftOut,
  lastError,
  said,
  ...server
}: McpServerStatus): DoctorFinding[] {
  const what = `MCP ${name}`;
  if (server.switch === "off") return [okFinding(what, "switched off")];
  if (server.signIn === "needed")
    return [
      warningFinding(
        what,
        "it needs a person to sign in",
        `Run: holdfast mcp-servers sign-in ${name}, or choose Sign in on the page (Settings, MCP servers).`,
      ),
    ];
  const reason = lastError ?? said.at(-1) ?? "it has not answered in time";
  switch (state) {
    case "ready": {
      const words = `reachable, ${tools.length} ${tools.length === 1 ? "tool" : "tools"}`;
      const mend = "GET /api/mcp says which ones, and why.";
      return [
        leftOut.length === 0
          ? okFinding(what, words)
          : warningFinding(what, `${words}; ${leftOut.length} cannot be used`, mend),
      ];
    }
    case "stopped":
      return [
        warningFinding(what, "not connected here", "Ask the process that has the role runner."),
      ];
    case "starting":
    case "away":
      return [
        errorFinding(
          what,
          `away: ${reason}`,
          "Look at its command or url, its keys, and whether it runs.",
        ),
      ];
  }
}
