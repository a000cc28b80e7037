import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

import type { Tool, ToolCall, ToolContext, ToolResult } from "@holdfast/engine";
import { anOwner } from "@holdfast/testing/fixtures/factories";
import { assertPresent } from "@holdfast/testing/fixtures/open-session";
import { ids, type Json, type OwnerId, type SessionId } from "@holdfast/protocol";
import { createReferenceStore, type ReferenceStore } from "@holdfast/testing/reference-store/store";

import type { McpServers } from "../../../src/ops/config/mcp-servers.ts";
import type { Confinement } from "../../../src/sandbox/confinement.ts";
import { unconfined } from "../open-confinement.ts";
import { type Mcp, openMcp } from "../../../src/agent/mcp/mcp.ts";

export interface McpRig {
  readonly mcp: Mcp;
  readonly store: ReferenceStore;
  readonly owner: OwnerId;
  /** Every line logged. */
  readonly said: string[];
  readonly tool: (name: string) => Promise<Tool>;
  /** Calls a tool as the engine does; `written` gets its live output. */
  readonly call: (name: string, input?: Json, how?: HowToCall) => Promise<ToolResult>;
  readonly stop: () => Promise<void>;
}

interface HowToCall extends Pick<ToolContext, "ask">, Pick<ToolCall, "rights" | "lane"> {
  readonly signal?: AbortSignal;
  readonly written?: (text: string) => void;
  readonly session?: SessionId;
}

/** Servers with short timeouts, so that a minute's wait takes a moment. */
export function openMcpRig(
  servers: McpServers,
  environment: Readonly<Record<string, string | undefined>> = process.env,
  confinement: Confinement = unconfined,
): McpRig {
  const store = createReferenceStore();
  const owner = anOwner();
  const said: string[] = [];
  const mcp = openMcp({
    servers,
    confinement,
    environment,
    store,
    log: (line) => void said.push(line),
    times: { backoffMs: 5, maxBackoffMs: 20, firstMs: 60_000 },
  });
  mcp.start();
  const tool = async (name: string): Promise<Tool> =>
    assertPresent((await mcp.tools()).tools.get(name));
  return {
    mcp,
    store,
    owner,
    said,
    tool,
    async call(name, input = {}, how = {}) {
      const { signal = new AbortController().signal, written = () => undefined, ...rest } = how;
      const { ask, session = ids.make("session"), ...from } = rest;
      const [runId, callId] = [ids.make("run"), ids.make("call")];
      const asked = { owner, session, runId, callId, input, ...from };
      const context = { signal, write: written, ...(ask !== undefined && { ask }) };
      return (await tool(name)).run(asked, context);
    },
    async stop() {
      await mcp.stop();
      await store.close();
    },
  };
}

const misbehavingServerMain = fileURLToPath(
  new URL("./misbehaving-server-main.ts", import.meta.url),
);

/** A server that misbehaves in the given way. */
export function misbehavingServer(manner: string, diary?: string, detail = "") {
  return {
    command: process.execPath,
    args: [misbehavingServerMain, manner, detail],
    ...(diary !== undefined && { env: { DIARY: diary } }),
  };
}

export function readServerLog(path: string): string[] {
  return readFileSync(path, "utf8").split("\n").slice(0, -1);
}
