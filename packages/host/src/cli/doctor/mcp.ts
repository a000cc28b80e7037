import { type Client, describeError } from "@holdfast/client";
import type { McpServerView } from "@holdfast/protocol";

import type { Config } from "../../ops/config/settings.ts";
import type { McpServerState } from "../../agent/mcp/mcp.ts";
import type { OpenedSecrets } from "../../ops/secrets/secrets.ts";
import { withSecrets } from "../connection/with-secrets.ts";
import { doctorStrings } from "../strings/doctor.ts";
import { errorFinding, warningFinding, type DoctorFinding, okFinding } from "./finding.ts";

const { checks, mcp: texts } = doctorStrings;

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
  if (!listed.ok) return [errorFinding(checks.mcp, describeError(listed.error), texts.mend)];
  return listed.value.servers.flatMap(mcpFindings);
}

/** Without a serving host, connects to each server once, lists its tools, and disconnects. */
export async function checkConfiguredMcp(config: Config): Promise<DoctorFinding[]> {
  const checked = await withSecrets(config, (opened) => tryServers(config, opened));
  return checked.ok
    ? checked.value
    : [errorFinding(checks.mcp, checked.failure.message, texts.seeAbove)];
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
  const hidden = warningFinding(checks.mcpServer(name), texts.hidden, texts.hiddenMend(name));
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
  const what = checks.mcpServer(name);
  if (server.switch === "off") return [okFinding(what, texts.off)];
  if (server.signIn === "needed")
    return [warningFinding(what, texts.needsSignIn, texts.signIn(name))];
  const reason = lastError ?? said.at(-1) ?? texts.noAnswer;
  switch (state) {
    case "ready": {
      return [
        leftOut.length === 0
          ? okFinding(what, texts.ready(tools.length))
          : warningFinding(
              what,
              texts.readyPartly(tools.length, leftOut.length),
              texts.unusableMend,
            ),
      ];
    }
    case "stopped":
      return [warningFinding(what, texts.stopped, texts.stoppedMend)];
    case "starting":
    case "away":
      return [errorFinding(what, texts.away(reason), texts.awayMend)];
  }
}
