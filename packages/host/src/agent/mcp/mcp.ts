import { createHash } from "node:crypto";
import {
  type AgentRequest,
  type Log,
  type Tool,
  type Clock,
  type Random,
  type Store,
  systemClock,
} from "@holdfast/engine";
import { ids, newEvent, type SessionId, withTimeout } from "@holdfast/protocol";
import { createRedactor } from "../../ops/secrets/redact.ts";
import type { Confinement } from "../../sandbox/confinement.ts";
import type { McpServers } from "../../ops/config/mcp-servers.ts";
import {
  manageServer,
  type ManagedServer,
  type ServerState,
  type ServerTimes,
} from "./managed-server.ts";
import {
  storedKeysOf,
  type ValueSources,
  secretValues,
  type ServerKeys,
} from "./resolve-values.ts";
import { createServerTool } from "./server-tool.ts";

export interface AgentTools {
  readonly tools: ReadonlyMap<string, Tool>;
  /** Identifies the tools that may change while the host runs; empty if none can. */
  readonly signature: string;
}

const maxAnnounced = 1_000;

/**
 * An agent's tools: the host's own, then the current ones of MCP servers. P9: a changed offer changes the signature, so
 * the session's next turn starts a new frame, which records it.
 */
export function withServerTools(
  own: ReadonlyMap<string, Tool>,
  mcp: Pick<Mcp, "tools">,
  log: Pick<Log, "commit">,
): (request: AgentRequest) => Promise<AgentTools> {
  const announced = new Map<SessionId, string>();

  /** Once per session, and again when the missing servers change, so that people learn why a tool is unavailable. */
  async function announceMissing({ owner, session }: AgentRequest, names: readonly string[]) {
    const nameList = names.join(", ");
    if (names.length === 0 || announced.get(session) === nameList) return;
    announced.set(session, nameList);
    const [oldest] = announced.keys();
    if (announced.size > maxAnnounced && oldest !== undefined) announced.delete(oldest);
    // Contains nothing a server said: the model takes this as the host's own statement.
    const text = `The tools of these MCP servers are missing, since they are not connected: ${nameList}. They are tried again by themselves.`;
    const noticeId = ids.make("notice");
    const notice = newEvent(ids.make("event"), "notice.added", {
      noticeId,
      kind: "mcp_missing",
      text,
    });
    await log.commit({ owner, session, events: [notice], touch: "quiet" });
  }

  return async (request) => {
    const { tools, hash, missing } = await mcp.tools();
    await announceMissing(
      request,
      missing.map(({ name }) => name),
    );
    const merged = new Map(tools.size === 0 ? own : [...own, ...tools, ...own]);
    return { tools: merged, signature: hash === "" ? "" : `mcp=${hash}` };
  };
}

export interface McpDeps extends Pick<ValueSources, "environment"> {
  readonly servers: McpServers;
  readonly confinement: Confinement;
  /** Without them no stored key is found. */
  readonly secrets?: ValueSources["secrets"];
  readonly store: Pick<Store, "putBlob">;
  /** Receives servers' stderr lines and the reasons for disconnects. */
  readonly log: (line: string) => void;
  readonly clock?: Clock;
  readonly random?: Random;
  readonly times?: Partial<ServerTimes & { readonly firstMs: number }>;
}

export interface McpServerState {
  readonly name: string;
  readonly kind: "program" | "http";
  readonly state: ServerState;
  readonly tools: readonly { readonly name: string; readonly remote: string }[];
  readonly leftOut: readonly string[];
  readonly lastError: string | null;
  readonly said: readonly string[];
}

/** The tools at one moment, and what they were built from. */
export interface McpTools {
  readonly tools: ReadonlyMap<string, Tool>;
  /** Empty without configured servers. */
  readonly hash: string;
  /** Servers whose tools are not known yet. */
  readonly missing: readonly { readonly name: string; readonly why: string }[];
}

/** The configured MCP servers. They belong to the process: agents come and go, connections stay. */
export interface Mcp {
  /** Waits briefly for servers that are connecting for the first time. */
  tools(): Promise<McpTools>;
  /** Values given to servers that must not leak elsewhere. */
  readonly secrets: readonly string[];
  states(): readonly McpServerState[];
  /**
   * The stored keys a server's settings name, and the only address they may be for. `null` if there is no such server.
   */
  keysOf(name: string): ServerKeys | null;
  /** `null` if there is no such server. */
  restart(name: string): McpServerState | null;
  start(): void;
  stop(): Promise<void>;
}

const noTools: McpTools = { tools: new Map(), hash: "", missing: [] };

const defaultTimes = {
  responseTimeoutMs: 20_000,
  backoffMs: 1_000,
  maxBackoffMs: 60_000,
  /** How long the first turns after a start wait for servers. */
  firstMs: 5_000,
};

export function openMcp(deps: McpDeps): Mcp {
  const {
    environment,
    store,
    secrets: stored = { read: () => null },
    clock = systemClock,
    random = Math.random,
  } = deps;
  const times = { ...defaultTimes, ...deps.times };
  const secrets = secretValues(deps.servers, environment);
  const redact = createRedactor(() => secrets);
  const log = (line: string): void => deps.log(redact(line));
  let snapshot: McpTools | undefined;
  let first: Promise<unknown> = Promise.resolve();
  const managed = new Map<string, ManagedServer>();
  // Sorted, so that what models are told does not depend on the order in the configuration.
  for (const [name, server] of Object.entries(deps.servers).toSorted(byName)) {
    const onTools = (): void => void (snapshot = undefined);
    const shared = {
      confinement: deps.confinement,
      environment,
      secrets: stored,
      clock,
      random,
      times,
      log,
      redact,
      onTools,
    };
    managed.set(name, manageServer({ name, server, ...shared }));
  }

  function takeSnapshot(): McpTools {
    if (managed.size === 0) return noTools;
    const tools = new Map<string, Tool>();
    for (const [name, server] of managed)
      for (const offered of server.list()?.tools ?? []) {
        const definition = deps.servers[name];
        if (definition === undefined) continue;
        const tool = createServerTool(
          { name, server: definition, managed: server, store },
          offered,
        );
        tools.set(tool.name, tool);
      }
    const announced = [...tools.values()].map(({ name, description, input, replay }) => [
      name,
      description,
      input,
      replay,
    ]);
    const hash = createHash("sha256").update(JSON.stringify(announced)).digest("hex").slice(0, 16);
    return { tools, hash, missing: missing() };
  }

  function missing(): McpTools["missing"] {
    return [...managed].flatMap(([name, server]) =>
      server.list() === null && server.state() !== "stopped"
        ? [{ name, why: server.lastError() ?? "It has not answered yet." }]
        : [],
    );
  }

  function stateOf(name: string, server: ManagedServer): McpServerState {
    const definition = deps.servers[name];
    return {
      name,
      kind: definition !== undefined && "url" in definition ? "http" : "program",
      state: server.state(),
      tools: (server.list()?.tools ?? []).map(({ name: toolName, remote }) => ({
        name: toolName,
        remote,
      })),
      leftOut: server.list()?.leftOut ?? [],
      lastError: server.lastError(),
      said: server.stderrLines(),
    };
  }

  return {
    async tools() {
      await first;
      snapshot ??= takeSnapshot();
      return { ...snapshot, missing: missing() };
    },
    secrets,
    states: () => [...managed].map(([name, server]) => stateOf(name, server)),
    keysOf(name) {
      const server = managed.has(name) ? deps.servers[name] : undefined;
      return server === undefined ? null : storedKeysOf(server);
    },
    restart(name) {
      const server = managed.get(name);
      if (server === undefined) return null;
      server.restart();
      return stateOf(name, server);
    },
    start() {
      if (managed.size === 0) return;
      first = withTimeout({ clock, ms: times.firstMs }, () =>
        Promise.all([...managed.values()].map(({ firstAttempt }) => firstAttempt)),
      );
      for (const server of managed.values()) server.start();
    },
    async stop() {
      await Promise.all([...managed.values()].map((server) => server.stop()));
    },
  };
}

function byName([a]: readonly [string, unknown], [b]: readonly [string, unknown]): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
