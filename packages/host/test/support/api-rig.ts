import { mkdtempSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import {
  type Clock,
  createEngine,
  createLog,
  type Log,
  type Runner,
  systemClock,
  type Tool,
} from "@holdfast/engine";
import { aHolder } from "@holdfast/testing/fixtures/factories";
import { RecordingMemory, openMemoryRig } from "@holdfast/testing/rigs/memory-rig";
import {
  type ScriptedModel,
  scriptedModel,
  type Script,
} from "@holdfast/testing/fakes/scripted-model";
import { type Client, createClient } from "@holdfast/client";
import { ids, type OwnerId, ownerId } from "@holdfast/protocol";
import { createReferenceStore, type ReferenceStore } from "@holdfast/testing/reference-store/store";
import type { Hono } from "hono";

import { apiRoutes } from "../../src/server/api/routes.ts";
import { createProtocols } from "../../src/server/protocols.ts";
import type { Protocol } from "../../src/server/http/protocol.ts";
import { type WebhookAdmin } from "../../src/server/api/gateway.ts";
import { createSummariser } from "../../src/agent/compaction.ts";
import { openFactStore } from "../../src/agent/memory/fact-store.ts";
import { openPersonaStore } from "../../src/agent/instructions/persona-store.ts";
import { openProfiles } from "../../src/agent/profiles/profiles.ts";
import { unconfined } from "./open-confinement.ts";
import { openSkills } from "../../src/agent/skills/skills.ts";
import { createSpendLimits } from "../../src/ops/spending/spend-limits.ts";
import { createSystemPrompt } from "../../src/agent/system-prompt.ts";
import { openWorkspaceTrust } from "../../src/agent/workspace-trust.ts";
import { createAuthenticator, type Authenticator } from "../../src/server/auth/authenticator.ts";
import { openApiKeys } from "../../src/server/auth/api-keys.ts";
import { createPasswords } from "../../src/server/auth/password.ts";
import { createHttpApp } from "../../src/server/http/http-app.ts";
import { type HostEnv, type Route } from "../../src/server/http/routing.ts";
import {
  type AnonymousConnections,
  type BodyBudget,
} from "../../src/server/http/anonymous-clients.ts";
import { createWebSearch, type WebSearchDeps } from "../../src/agent/search/web-search.ts";
import type { AddedServers } from "../../src/agent/mcp/added-servers.ts";
import type { Mcp } from "../../src/agent/mcp/mcp.ts";
import type { Secrets } from "../../src/ops/secrets/secrets.ts";
import { createRedactor } from "../../src/ops/secrets/redact.ts";
import type { ModelRegistry } from "../../src/agent/models/registry.ts";
import { memoryRows, memorySecrets, openTestModels } from "./providers/models.ts";
import { createPolicy } from "../../src/agent/policy/policy.ts";
import { conversationStart } from "../../src/agent/policy/conversation-start.ts";
import { openStoredRules } from "../../src/agent/policy/stored-rules.ts";
import { openRightsResolver } from "../../src/rights/resolve-rights.ts";
import { FileUndo } from "../../src/agent/snapshots/file-undo.ts";
import { LocalFileSnapshots } from "../../src/agent/snapshots/local-snapshots.ts";
import { openWorktrees } from "../../src/agent/worktrees/worktrees.ts";
import { createPdfReader } from "../../src/agent/documents/pdf-reader.ts";
import { confinementFor } from "../../src/agent/toolset.ts";
import { openWorkspaces } from "../../src/agent/workspace/workspaces.ts";
import { readConfig } from "../../src/ops/config/read-config.ts";
import type { Config } from "../../src/ops/config/settings.ts";
import { createPageSettings } from "../../src/ops/page-settings/page-settings.ts";
import { createMetrics } from "../../src/ops/telemetry/metrics.ts";
import { createStorageStatus, type StorageStatus } from "../../src/ops/health/store-health.ts";

/** The API on an in-memory store with a scripted model. No network. */
export interface ApiRig {
  readonly app: Hono<HostEnv>;
  readonly routes: readonly Route[];
  readonly protocols: readonly Protocol[];
  readonly client: Client;
  readonly owner: OwnerId;
  readonly store: ReferenceStore;
  readonly log: Log;
  readonly runner: Pick<Runner, "notify">;
  readonly model: ScriptedModel;
  /** Records completed turns, unless memory is off. */
  readonly memory: RecordingMemory;
  readonly storing: StorageStatus;
  readonly authenticator: Authenticator;
  readonly bugs: Error[];
  readonly bearer: Readonly<Record<string, string>>;
  /** Sends a request without the client, for what the client would not send. */
  readonly ask: (
    method: string,
    path: string,
    body?: unknown,
    headers?: Readonly<Record<string, string>>,
  ) => Promise<Response>;
  /** From now on no keyed answer is stored, as if the host died before it could. */
  readonly forgetAnswers: () => void;
  /** From now on nothing queued is started. */
  readonly pauseRunner: () => void;
  readonly stopAdmitting: () => void;
  readonly closeStreams: () => void;
  readonly close: () => Promise<void>;
}

const token = "a-token-for-this-test";

export interface ApiRigOptions {
  readonly clock?: Clock;
  /** The store's clock, in milliseconds. */
  readonly storeClock?: () => number;
  readonly tools?: readonly Tool[];
  /** The operator's rules. */
  readonly toolRules?: readonly string[];
  readonly remembers?: "everything" | "nothing";
  /** Where a password is stored; without it there is none. */
  readonly home?: string;
  /** Without them sessions have their own folders only. */
  readonly workspaceRoots?: readonly string[];
  readonly anonymousConnections?: AnonymousConnections;
  readonly bodyBudget?: BodyBudget;
  /** If given, only reachable models are accepted; otherwise any. */
  readonly environment?: Readonly<Record<string, string>>;
  readonly secrets?: Secrets;
  /** If given, windows are those that it knows; that of the scripted model is unknown. */
  readonly models?: ModelRegistry;
  /** Without it there are no servers. */
  readonly mcp?: Pick<Mcp, "states" | "state" | "restart" | "keysOf" | "signInUrl">;
  readonly addedServers?: AddedServers;
  /** Without it there are none. */
  readonly webhooks?: WebhookAdmin;
  /** Whether MCP clients may answer approvals; by default not. */
  readonly mcpApprovals?: "on" | "off";
  /** Where search providers are, other than at their own addresses. */
  readonly webSearch?: Pick<WebSearchDeps, "addresses">;
}

export function openApi(script: Script = [], options: ApiRigOptions = {}): ApiRig {
  const { clock = systemClock, tools = [], remembers = "nothing" } = options;
  const { home, anonymousConnections, bodyBudget, environment } = options;
  // Without a home there is no password and no file of the owner's, but sessions have folders of their own.
  const ownHome = home ?? realpathSync(mkdtempSync(join(tmpdir(), "holdfast-api-")));
  const rules = { keepsAnswers: true, begins: true };
  const { storeClock } = options;
  const store = withStoreRules(createReferenceStore(storeClock && { clock: storeClock }), rules);
  const log = createLog(store);
  const model = scriptedModel(script);
  const bugs: Error[] = [];
  const report = (error: unknown): void =>
    void bugs.push(error instanceof Error ? error : new Error(String(error)));
  const memory = new RecordingMemory("one");
  const rig = openMemoryRig(store, { log, onError: report });
  rig.reachable.set("one", memory);
  if (remembers === "everything") rig.turnTo(memory);
  const storedRules = openStoredRules(store.register);
  const workspaces = openWorkspaces({ home: ownHome, roots: options.workspaceRoots ?? [] }, store);
  const toolset = {
    workspaces,
    pdfs: createPdfReader(),
    worktrees: openWorktrees({
      home: ownHome,
      reads: store.reads,
      confinement: confinementFor({
        ...defaultConfig(),
        sandbox: { ...defaultConfig().sandbox, value: "off" },
      }),
      environment: process.env,
    }),
    rules: storedRules,
    policy: createPolicy({
      mode: "ask",
      rules: options.toolRules ?? [],
      storedRules,
      begunAt: conversationStart(store.reads),
    }),
  };
  const { models: knownModels } = options;
  const engine = createEngine({
    log,
    model: { name: "scripted", model },
    tools,
    toolPolicy: toolset.policy,
    rightsOf: openRightsResolver(store.register).ofMessage,
    memory: {
      current: rig.remembers,
      open: async ({ configuration }) => rig.reachable.get(configuration) ?? null,
    },
    limits: { steps: 10, timeMs: 60_000, modelTries: 1 },
    compaction: {
      summariser: createSummariser({ modelFor: async () => ({ name: "scripted", model }) }),
      ...(knownModels && {
        windowOf: (name) => (name === "scripted" ? null : knownModels.facts(name).window),
      }),
    },
    starts: "when asked",
    onError: report,
  });
  const { runner, compactor } = engine;
  const { secrets = memorySecrets(), mcp, addedServers } = options;
  const models = knownModels ?? openTestModels(secrets, environment);
  const storing = createStorageStatus();
  const stopping = new AbortController();
  const closing = new AbortController();
  const apiKeys = openApiKeys({ register: store.register, owner: ownerId.parse("owner") });
  const authenticator = createAuthenticator({ token, store, apiKeys });
  const passwords = home === undefined ? {} : { passwords: createPasswords(memoryRows()) };
  const personas = openPersonaStore({ register: store.register, home });
  const skills = openSkills({
    home: ownHome,
    operator: ownerId.parse("owner"),
    register: store.register,
    workspaces: toolset.workspaces,
    clone: { environment: process.env, confinement: unconfined },
    mayUse: async () => true,
  });
  const profiles = openProfiles({
    home: ownHome,
    operator: ownerId.parse("owner"),
    register: store.register,
    workspaces: toolset.workspaces,
    mayUse: async () => true,
    models,
    rightsOfProfile: (owner, name) => openRightsResolver(store.register).ofProfile(owner, name),
    tools: async () => ["read_file", "grep"],
  });
  const pageSettings = createPageSettings(defaultConfig(), store);
  const apiDeps = {
    spendLimits: createSpendLimits({ store, config: pageSettings.config }),
    apiKeys,
    log,
    toolset,
    newSessionMode: () => "ask" as const,
    pageSettings,
    listTools: async () => tools,
    ids,
    engine,
    storageStatus: storing,
    compactor,
    memory: rig.committer,
    models,
    secrets,
    webSearch: createWebSearch({
      config: pageSettings.config,
      environment: environment ?? {},
      secrets,
      // No name has an address here, so no test searches the web.
      ask: { now: () => clock.now(), egress: { resolve: async () => [] } },
      ...options.webSearch,
    }),
    ...(mcp && { mcp }),
    ...(addedServers && { addedServers }),
    ...(options.webhooks && { webhooks: options.webhooks }),
    reviews: { cancel: () => {} },
    fileUndo: new FileUndo({
      log,
      holder: () => aHolder(),
      snapshots: new LocalFileSnapshots({ folder: join(ownHome, "snapshots"), git: null }),
      workspaces,
      folder: join(ownHome, "snapshots", "restoring"),
    }),
    prompt: createSystemPrompt({
      home: ownHome,
      workspaces: toolset.workspaces,
      trust: openWorkspaceTrust(store.register),
      persona: async () => (await personas.resolve(null)).text,
      instructions: noTexts,
      project: async () => "",
      notes: noTexts,
    }),
    personas,
    skills,
    profiles,
    facts: openFactStore({ register: store.register, home }),
    authenticator,
    ...passwords,
    redact: createRedactor(() => [token]),
    metrics: createMetrics(),
    ...(home !== undefined && { home }),
    clock,
    holder: () => aHolder(),
    stopping: stopping.signal,
    closing: closing.signal,
    report,
  };
  const api = apiRoutes(apiDeps);
  const protocols = createProtocols({
    ...apiDeps,
    callApi: (url, init) => app.request(url, init, {}),
    mcpApprovals: options.mcpApprovals ?? "off",
    origin: undefined,
  });
  const app: Hono<HostEnv> = createHttpApp({
    version: "1.2.3",
    page: [],
    authenticator,
    ...passwords,
    ...(anonymousConnections && { anonymousConnections }),
    ...(bodyBudget && { bodyBudget }),
    host: "127.0.0.1",
    origin: undefined,
    basePath: "",
    api,
    protocols,
    health: async () => ({
      status: "ok",
      ready: true,
      reasons: [],
      roles: [],
      store: { kind: store.kind, ready: true },
    }),
    report,
  });
  const bearer = { authorization: `Bearer ${token}` };
  return {
    app,
    routes: api,
    protocols,
    client: createClient({ token, fetch: (url, init) => app.request(url, init, {}) }),
    owner: ownerId.parse("owner"),
    store,
    log,
    runner,
    model,
    memory,
    storing,
    authenticator,
    bugs,
    bearer,
    async ask(method, path, body, headers = {}) {
      const json = body === undefined ? {} : { "content-type": "application/json" };
      const init = { method, headers: { ...bearer, ...json, ...headers } };
      return app.request(path, body === undefined ? init : { ...init, body: encodeBody(body) }, {});
    },
    forgetAnswers: () => void (rules.keepsAnswers = false),
    pauseRunner: () => void (rules.begins = false),
    stopAdmitting: () => stopping.abort(),
    closeStreams: () => closing.abort(),
    async close() {
      stopping.abort();
      await runner.stop();
      closing.abort();
      await store.close();
      if (home === undefined) rmSync(ownHome, { recursive: true, force: true });
    },
  };
}

/** A string is sent as is, so that a test can send invalid JSON. */
function encodeBody(body: unknown): string {
  return typeof body === "string" ? body : JSON.stringify(body);
}

function withStoreRules(
  store: ReferenceStore,
  rules: { readonly keepsAnswers: boolean; readonly begins: boolean },
): ReferenceStore {
  const { requests, leases } = store;
  const find: typeof requests.find = async (...args) =>
    rules.keepsAnswers ? requests.find(...args) : null;
  /** Without a lease the runner starts nothing. */
  const acquire: typeof leases.acquire = async (request) =>
    rules.begins || request.kind !== "run"
      ? leases.acquire(request)
      : { status: "failed", code: "store_busy", message: "The test has paused the runner." };
  return {
    ...store,
    leases: { ...leases, acquire },
    requests: { find, keep: (request) => requests.keep(request) },
  };
}

const noTexts = { text: async () => "", withdrawals: async () => 0 };

function defaultConfig(): Config {
  const read = readConfig({ flags: {}, environment: {}, personFolder: "/nowhere" });
  if (!read.ok) throw new Error(read.failure.message);
  return read.value;
}
