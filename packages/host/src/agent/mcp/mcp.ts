import { createHash } from "node:crypto";
import { type Tool, type Clock, type Random, type Store, systemClock } from "@holdfast/engine";
import { commandText, withTimeout } from "@holdfast/protocol";
import { createRedactor } from "../../ops/secrets/redact.ts";
import type { Confinement } from "../../sandbox/confinement.ts";
import type { McpServer, McpServers, WebServer } from "../../ops/config/mcp-servers.ts";
import type { AddedServers } from "./added-servers.ts";
import type { SignIns, SignInState } from "./sign-in/sign-ins.ts";
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

export interface McpDeps extends Pick<ValueSources, "environment"> {
  /** The operator's, which win over added ones of the same name. */
  readonly servers: McpServers;
  /** Those that people add while the host runs. */
  readonly added?: Pick<AddedServers, "list" | "onChange">;
  /** Without it a server is asked with its headers only. */
  readonly signIns?: Pick<SignIns, "providerFor" | "state" | "onChange">;
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
  readonly connectedBy: "configuration" | "page";
  readonly switch: "on" | "off";
  readonly target: string;
  readonly hidesAdded: boolean;
  readonly signIn: SignInState;
}

/** The tools at one moment, and what they were built from. */
export interface McpTools {
  readonly tools: ReadonlyMap<string, Tool>;
  /** Empty without configured servers. */
  readonly hash: string;
  /** Servers whose tools are not known yet. */
  readonly missing: readonly {
    readonly name: string;
    readonly why: string;
    readonly signIn: SignInState;
  }[];
}

/** The MCP servers of this host. They belong to the process: agents come and go, connections stay. */
export interface Mcp {
  /** Waits briefly for servers that are connecting for the first time. */
  tools(): Promise<McpTools>;
  /** Values given to servers that must not leak elsewhere. */
  secrets(): readonly string[];
  states(): readonly McpServerState[];
  /**
   * The stored keys a server's settings name, and the only address they may be for. `null` if there is no such server.
   */
  keysOf(name: string): ServerKeys | null;
  signInOf(name: string): SignInState;
  /** The address of a server that a person can sign in to; `null` for others. */
  signInUrl(name: string): string | null;
  /** `null` if there is no such server. */
  state(name: string): McpServerState | null;
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

/** One server that is switched on. */
interface Entry {
  readonly definition: McpServer;
  readonly managed: ManagedServer;
}

export function openMcp(deps: McpDeps): Mcp {
  const {
    environment,
    store,
    added,
    secrets: stored = { read: () => null },
    clock = systemClock,
    random = Math.random,
  } = deps;
  const times = { ...defaultTimes, ...deps.times };
  let secrets: readonly string[] = [];
  const redact = createRedactor(() => secrets);
  const log = (line: string): void => deps.log(redact(line));
  const entries = new Map<string, Entry>();
  const ending = new Set<Promise<void>>();
  let snapshot: McpTools | undefined;
  let first: Promise<unknown> = Promise.resolve();
  let life: "waiting" | "started" | "stopped" = "waiting";

  const isConfigured = (name: string): boolean => Object.hasOwn(deps.servers, name);
  const addedOnes = () => [...(added?.list() ?? [])].filter(([name]) => !isConfigured(name));

  function manage(name: string, server: McpServer): ManagedServer {
    return manageServer({
      name,
      server,
      confinement: deps.confinement,
      environment,
      secrets: stored,
      clock,
      random,
      times,
      log,
      redact,
      authProvider: canSignIn(server) ? deps.signIns?.providerFor(name, server.url) : undefined,
      onTools: () => void (snapshot = undefined),
    });
  }

  /** Makes the managed servers those that are wanted now. A changed one is another server: it is connected anew. */
  function update(): void {
    if (life === "stopped") return;
    const wanted = new Map<string, McpServer>([
      ...Object.entries(deps.servers),
      ...addedOnes().flatMap(([name, { server, switch: state }]) =>
        state === "on" ? [[name, server] as const] : [],
      ),
    ]);
    const known = [...Object.values(deps.servers), ...addedOnes().map(([, { server }]) => server)];
    secrets = secretValues(known, environment);
    for (const [name, { definition, managed }] of entries) {
      if (JSON.stringify(wanted.get(name)) === JSON.stringify(definition)) continue;
      entries.delete(name);
      const stopped: Promise<void> = managed.stop().finally(() => ending.delete(stopped));
      ending.add(stopped);
    }
    for (const [name, definition] of wanted) {
      if (entries.has(name)) continue;
      const managed = manage(name, definition);
      entries.set(name, { definition, managed });
      if (life === "started") managed.start();
    }
    snapshot = undefined;
  }

  /** Sorted, so that what models are told does not depend on the order in which servers were added. */
  const sorted = (): readonly [string, Entry][] => [...entries].toSorted(byName);

  function takeSnapshot(): McpTools {
    if (entries.size === 0) return noTools;
    const tools = new Map<string, Tool>();
    for (const [name, { definition, managed }] of sorted())
      for (const offered of managed.list()?.tools ?? []) {
        const tool = createServerTool({ name, server: definition, managed, store }, offered);
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
    return sorted().flatMap(([name, { managed }]) =>
      managed.list() === null && managed.state() !== "stopped"
        ? [{ name, why: managed.lastError() ?? "It has not answered yet.", signIn: signInOf(name) }]
        : [],
    );
  }

  const definitionOf = (name: string): McpServer | undefined =>
    deps.servers[name] ?? added?.list().get(name)?.server;

  function signInUrl(name: string): string | null {
    const definition = definitionOf(name);
    return definition !== undefined && canSignIn(definition) ? definition.url : null;
  }

  function signInOf(name: string): SignInState {
    const url = signInUrl(name);
    return url === null ? "none" : (deps.signIns?.state(name, url) ?? "none");
  }

  function stateOf(name: string): McpServerState | null {
    const managed = entries.get(name)?.managed;
    const listed = added?.list().get(name);
    const definition = definitionOf(name);
    if (definition === undefined) return null;
    const list = managed?.list() ?? null;
    return {
      name,
      kind: "url" in definition ? "http" : "program",
      state: managed?.state() ?? "stopped",
      tools: (list?.tools ?? []).map(({ name: toolName, remote }) => ({ name: toolName, remote })),
      leftOut: list?.leftOut ?? [],
      lastError: managed?.lastError() ?? null,
      said: managed?.stderrLines() ?? [],
      connectedBy: isConfigured(name) ? "configuration" : "page",
      switch: isConfigured(name) ? "on" : (listed?.switch ?? "on"),
      target: redact(targetOf(definition)),
      hidesAdded: isConfigured(name) && listed !== undefined,
      signIn: signInOf(name),
    };
  }

  update();
  added?.onChange(update);
  // Its tokens came or went, here or on another host.
  deps.signIns?.onChange((name) => entries.get(name)?.managed.restart());
  return {
    async tools() {
      await first;
      snapshot ??= takeSnapshot();
      return { ...snapshot, missing: missing() };
    },
    secrets: () => secrets,
    states: () =>
      [...new Set([...Object.keys(deps.servers), ...(added?.list().keys() ?? [])])]
        .toSorted()
        .flatMap((name) => stateOf(name) ?? []),
    state: stateOf,
    keysOf(name) {
      const definition = definitionOf(name);
      return definition === undefined ? null : storedKeysOf(definition);
    },
    signInUrl,
    signInOf,
    restart(name) {
      entries.get(name)?.managed.restart();
      return stateOf(name);
    },
    start() {
      if (life !== "waiting") return;
      life = "started";
      const begun = [...entries.values()].map(({ managed }) => managed);
      if (begun.length > 0)
        first = withTimeout({ clock, ms: times.firstMs }, () =>
          Promise.all(begun.map(({ firstAttempt }) => firstAttempt)),
        );
      for (const managed of begun) managed.start();
    },
    async stop() {
      life = "stopped";
      await Promise.all([...ending, ...[...entries.values()].map(({ managed }) => managed.stop())]);
    },
  };
}

/** A person's own header takes the place of a sign-in. */
function canSignIn(server: McpServer): server is WebServer {
  return (
    "url" in server &&
    !Object.keys(server.headers ?? {}).some((name) => name.toLowerCase() === "authorization")
  );
}

/** For people: a query may hold a key. */
function targetOf(server: McpServer): string {
  if (!("url" in server)) return commandText(server);
  const url = URL.parse(server.url);
  return url === null ? "" : `${url.origin}${url.pathname}`;
}

function byName([a]: readonly [string, unknown], [b]: readonly [string, unknown]): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
