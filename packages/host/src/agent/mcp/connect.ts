import type * as Library from "@modelcontextprotocol/client";
import type { AuthProvider, CallToolResult, Client, Transport } from "@modelcontextprotocol/client";
import { z } from "zod";
import type { Clock, ToolContext } from "@holdfast/engine";
import { type JsonObject, withTimeout } from "@holdfast/protocol";
import type { McpServer } from "../../ops/config/mcp-servers.ts";
import { allowedEnvironment } from "../../sandbox/run-command.ts";
import type { Confinement } from "../../sandbox/confinement.ts";
import { openNetwork } from "../../sandbox/network/open-network.ts";
import { version } from "../../util/version.ts";
import { type ActiveCall, ActiveCalls } from "./active-calls.ts";
import { createProgressWriter } from "./call-progress.ts";
import { openHttpTransport } from "./http-transport.ts";
import { type OfferedTool, readToolList, type ToolList } from "./tool-list.ts";
import { type ValueSources, resolveValues } from "./resolve-values.ts";
import { profileOf } from "./server-profile.ts";
import { StdioTransport } from "./stdio-transport.ts";

/** The library is large, so it is loaded when the first server is connected. */
export type Sdk = typeof Library;

export async function loadSdk(): Promise<Sdk> {
  return import("@modelcontextprotocol/client");
}

export interface ConnectDeps extends ValueSources {
  readonly sdk: Sdk;
  readonly name: string;
  readonly server: McpServer;
  readonly confinement: Confinement;
  readonly clock: Clock;
  /** For each response during setup. */
  readonly responseTimeoutMs: number;
  /** Adds the tokens of a sign-in, for a server that may need one. */
  readonly authProvider?: AuthProvider | undefined;
  readonly onStderrLine: (line: string) => void;
  readonly onToolsChanged: () => void;
  readonly signal: AbortSignal;
}

/** An initialized server. Everything here rejects with the library's errors. */
export interface McpConnection {
  listTools(): Promise<ToolList>;
  call(tool: OfferedTool, input: JsonObject, work: CallContext): Promise<CallToolResult>;
  /** Resolves when the connection ends, with the reason. */
  readonly closed: Promise<string>;
  close(): Promise<void>;
}

export interface CallContext extends Pick<ToolContext, "signal" | "write">, ActiveCall {
  readonly timeLimitMs: number;
}

/** The calls' own limits come first, which do not count the time that people take to answer. */
const noTimeoutMs = 2 ** 31 - 1;
/** How often a server may ask for something more within one call. */
const maxRounds = 10;

const maxPages = 32;
const maxListed = 2_000;
/** An older server may not know the version request, and not answer it. */
const probeMs = 3_000;
const closeTimeoutMs = 1_000;
const page = z.looseObject({ tools: z.array(z.unknown()), nextCursor: z.string().optional() });

export async function connect(deps: ConnectDeps): Promise<McpConnection> {
  const { sdk, responseTimeoutMs: patienceMs, signal, onToolsChanged } = deps;
  const { transport, endSession: leave, endReason: why } = await openTransport(deps);
  const client = new sdk.Client(
    { name: "holdfast", version },
    {
      // A server is offered questions to people, during a call, and nothing else: no models and no folders.
      capabilities: { elicitation: { form: {}, url: {} } },
      inputRequired: { maxRounds },
      versionNegotiation: {
        mode: "auto",
        probe: { timeoutMs: Math.min(probeMs, patienceMs), maxRetries: 0 },
      },
      listChanged: { tools: { autoRefresh: false, debounceMs: 100, onChanged: onToolsChanged } },
    },
  );
  const calls = new ActiveCalls(deps.clock);
  client.setRequestHandler("elicitation/create", ({ params }, { mcpReq }) =>
    calls.elicit(params, mcpReq.signal),
  );
  const closed = Promise.withResolvers<string>();
  Object.assign(client, {
    onclose: () => closed.resolve(why() ?? "The connection was closed."),
    // An error is reported by its call, or by the end of the connection.
    onerror: () => undefined,
  });
  async function close(): Promise<void> {
    await leave();
    await client.close();
    await transport.close();
  }
  const abandon = (): void => void close().catch(() => undefined);
  signal.addEventListener("abort", abandon, { once: true });
  try {
    await client.connect(transport, { timeout: patienceMs, signal });
  } catch (error) {
    await transport.close().catch(() => undefined);
    const reason = why();
    throw reason === undefined ? error : new Error(reason, { cause: error });
  } finally {
    signal.removeEventListener("abort", abandon);
  }
  return {
    listTools: () => listTools(client, deps),
    async call(tool, input, { signal: cancelled, write, timeLimitMs, ...call }) {
      const progress = createProgressWriter(write, deps.clock, cancelled);
      const onLate = (): Error =>
        new sdk.SdkError(sdk.SdkErrorCode.RequestTimeout, "The server did not answer in time.");
      const limit = { ms: timeLimitMs, signal: cancelled, onLate };
      try {
        return await calls.run(call, limit, (limited) =>
          client.callTool(
            { name: tool.remote, arguments: input },
            {
              signal: limited,
              timeout: noTimeoutMs,
              // The output is not validated against the server's own schema, whose patterns would run here.
              toolDefinition: { name: tool.remote, inputSchema: tool.input },
              onprogress: (reported) => progress.add(reported),
            },
          ),
        );
      } finally {
        progress.end();
      }
    },
    closed: closed.promise,
    close,
  };
}

async function listTools(
  client: Client,
  { name, responseTimeoutMs: patienceMs }: ConnectDeps,
): Promise<ToolList> {
  // A server without tools would answer that the method is unknown.
  if (client.getServerCapabilities()?.tools === undefined) return { tools: [], leftOut: [] };
  const listed: unknown[] = [];
  let cursor: string | undefined;
  for (let pages = 0; pages < maxPages && listed.length <= maxListed; pages += 1) {
    const params = cursor === undefined ? {} : { cursor };
    const { tools, nextCursor } = await client.request({ method: "tools/list", params }, page, {
      timeout: patienceMs,
    });
    listed.push(...tools.slice(0, maxListed));
    if (nextCursor === undefined || nextCursor === cursor) break;
    cursor = nextCursor;
  }
  return readToolList(name, listed);
}

interface OpenedTransport {
  readonly transport: Transport;
  /** Ends the session at the server, if there is one. */
  readonly endSession: () => Promise<unknown>;
  readonly endReason: () => string | undefined;
}

async function openTransport(deps: ConnectDeps): Promise<OpenedTransport> {
  const { sdk, server, environment, clock, onStderrLine } = deps;
  const origin = "url" in server ? URL.parse(server.url)?.origin : undefined;
  const declared = "url" in server ? server.headers : server.env;
  const resolved = resolveValues(declared ?? {}, deps, origin);
  if (!resolved.ok) throw new Error(resolved.message);
  const { values } = resolved;
  if ("url" in server) {
    const transport = openHttpTransport(
      sdk.StreamableHTTPClientTransport,
      server.url,
      values,
      deps.authProvider,
    );
    // An unresponsive server is abandoned: the request ends with the transport.
    const endSession = (): Promise<unknown> =>
      withTimeout({ clock, ms: closeTimeoutMs }, () =>
        transport.terminateSession().catch(() => undefined),
      );
    return { transport, endSession, endReason: () => undefined };
  }
  const plain = {
    argv: [server.command, ...(server.args ?? [])] as const,
    folder: server.cwd ?? process.cwd(),
    environment: { ...allowedEnvironment(environment), ...values },
  };
  const confined =
    server.sandbox === "off"
      ? await deps.confinement.leaveOpen(plain)
      : await deps.confinement.confine(plain, profileOf(deps.name, server));
  if (!confined.ok) throw new Error(confined.message);
  const network = confined.network === null ? null : await openNetwork(confined.network);
  const transport = new StdioTransport({
    name: server.command,
    launched: confined.command,
    decode: sdk.deserializeMessage,
    onStderrLine,
    onEnd: () => void network?.close(),
  });
  return { transport, endSession: async () => undefined, endReason: () => transport.end };
}
