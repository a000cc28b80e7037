import { type Clock, createLog, type Log, Runner, systemClock, type Tool } from "@holdfast/engine";
import { aHolder } from "@holdfast/testing/fixtures/factories";
import { NotedMemory, openMemory } from "@holdfast/testing/rigs/memory-rig";
import {
  type ScriptedModel,
  scriptedModel,
  type Script,
} from "@holdfast/testing/fakes/scripted-model";
import { type Client, createClient } from "@holdfast/client";
import { ids, type OwnerId, ownerId } from "@holdfast/protocol";
import { createMemoryStore, type MemoryStore } from "@holdfast/testing/reference-store/store";
import type { Hono } from "hono";

import { apiRoutes } from "../../src/server/api/routes.ts";
import { type WebhookDesk } from "../../src/server/api/webhooks.ts";
import { openCompactor } from "../../src/agent/src-compaction.ts";
import { openPrompt } from "../../src/agent/index.ts";
import { summariseWith } from "../../src/agent/compaction.ts";
import { createDoorkeeper, type Doorkeeper } from "../../src/server/auth/doorkeeper.ts";
import { keepPassword } from "../../src/server/auth/password.ts";
import { createApp } from "../../src/server/http/app.ts";
import { type HostEnv, type Route } from "../../src/server/http/route.ts";
import { type Strangers } from "../../src/server/http/anonymous-clients.ts";
import { type WaitingRoom } from "../../src/server/http/waiting-room.ts";
import type { Mcp } from "../../src/agent/mcp/index.ts";
import type { Secrets } from "../../src/ops/secrets/secrets.ts";
import { createRedactor } from "../../src/ops/secrets/redact.ts";
import { memorySecrets, openTestModels } from "./providers/models.ts";
import { createPolicy } from "../../src/agent/policy/policy.ts";
import { keepRules } from "../../src/agent/policy/stored-rules.ts";
import { openWorkspaces } from "../../src/agent/workspace/workspaces.ts";
import { createMetrics } from "../../src/ops/telemetry/telemetry-metrics.ts";
import { createStoringBoard, type StoringBoard } from "../../src/ops/health/store-health.ts";

/** The API on a store that keeps nothing, with a model that says what the test wants. No network. */
export interface ApiRig {
  readonly app: Hono<HostEnv>;
  readonly routes: readonly Route[];
  readonly client: Client;
  readonly owner: OwnerId;
  readonly store: MemoryStore;
  readonly log: Log;
  readonly runner: Pick<Runner, "poke">;
  readonly model: ScriptedModel;
  /** Has to remember what is completed, unless nobody has to. */
  readonly memory: NotedMemory;
  readonly storing: StoringBoard;
  readonly doorkeeper: Doorkeeper;
  readonly bugs: Error[];
  readonly bearer: Readonly<Record<string, string>>;
  /** Asks without the client, for what the client would not send. */
  readonly ask: (
    method: string,
    path: string,
    body?: unknown,
    headers?: Readonly<Record<string, string>>,
  ) => Promise<Response>;
  /** From now on no answer under a key is kept: as if the host died before it could. */
  readonly forgetAnswers: () => void;
  /** From now on nothing that waits is begun. */
  readonly pauseRunner: () => void;
  readonly stopAdmitting: () => void;
  readonly closeStreams: () => void;
  readonly close: () => Promise<void>;
}

const token = "a-token-for-this-test";

export interface ApiOptions {
  readonly clock?: Clock;
  /** The store's own, in milliseconds. */
  readonly storeClock?: () => number;
  readonly tools?: readonly Tool[];
  readonly remembers?: "everything" | "nothing";
  /** Where a password is kept; without it there can be none. */
  readonly home?: string;
  readonly strangers?: Strangers;
  readonly waitingRoom?: WaitingRoom;
  /** With it only models that can be reached are taken; else any. */
  readonly environment?: Readonly<Record<string, string>>;
  readonly secrets?: Secrets;
  /** Without it there are no servers. */
  readonly mcp?: Pick<Mcp, "states" | "restart" | "keysOf">;
  /** Without it there are none. */
  readonly webhooks?: WebhookDesk;
}

export function openApi(script: Script = [], options: ApiOptions = {}): ApiRig {
  const { clock = systemClock, tools = [], remembers = "nothing" } = options;
  const { home, strangers, waitingRoom, environment } = options;
  const rules = { keepsAnswers: true, begins: true };
  const { storeClock } = options;
  const store = withRules(createMemoryStore(storeClock && { clock: storeClock }), rules);
  const log = createLog(store);
  const model = scriptedModel(script);
  const bugs: Error[] = [];
  const report = (error: unknown): void =>
    void bugs.push(error instanceof Error ? error : new Error(String(error)));
  const memory = new NotedMemory("one");
  const rig = openMemory(store, { log, onError: report });
  rig.reachable.set("one", memory);
  if (remembers === "everything") rig.turnTo(memory);
  const kept = keepRules(store.register);
  const hands = {
    workspaces: openWorkspaces(
      { home: home ?? "/nowhere", roots: home === undefined ? [] : [home] },
      store,
    ),
    rules: kept,
    policy: createPolicy({ mode: "ask", rules: [], kept }),
  };
  const runner = new Runner({
    toolPolicy: hands.policy,
    remembers: rig.remembers,
    log,
    ids,
    clock: systemClock,
    random: Math.random,
    work: store.work,
    liveness: { isDead: () => "unknown" },
    holder: () => aHolder(),
    leaseMs: 30_000,
    policy: "resume",
    sweepMs: 60_000,
    maxRuns: 100,
    limits: { steps: 10, timeMs: 60_000, modelTries: 1 },
    tools: new Map(tools.map((tool) => [tool.name, tool])),
    modelFor: async () => ({ name: "scripted", model }),
    system: async () => "",
    onError: report,
  });
  const { secrets = memorySecrets(), mcp } = options;
  const models = openTestModels(secrets, environment);
  const storing = createStoringBoard();
  const stopping = new AbortController();
  const closing = new AbortController();
  const doorkeeper = createDoorkeeper(token);
  const passwords = home === undefined ? {} : { passwords: keepPassword(home) };
  const api = apiRoutes({
    log,
    hands,
    ids,
    runner: {
      poke: (...session) => {
        if (rules.begins) runner.poke(...session);
      },
      recoverLate: (...read) => runner.recoverLate(...read),
    },
    storing,
    compactor: openCompactor(
      log,
      { isDead: () => "unknown" },
      {
        summariser: summariseWith({ modelFor: async () => ({ name: "scripted", model }) }),
        windowOf: () => null,
        count: (text) => Math.ceil(text.length / 4),
      },
    ),
    memory: rig.keeper,
    models,
    secrets,
    ...(mcp && { mcp }),
    ...(options.webhooks && { webhooks: options.webhooks }),
    reviews: { cancel: () => {} },
    prompt: openPrompt({
      home: home ?? "/nowhere",
      workspaces: hands.workspaces,
      notes: async () => "",
    }),
    doorkeeper,
    ...passwords,
    redact: createRedactor(() => [token]),
    metrics: createMetrics(),
    ...(home !== undefined && { home }),
    clock,
    holder: () => aHolder(),
    stopping: stopping.signal,
    closing: closing.signal,
    report,
  });
  const app = createApp({
    version: "1.2.3",
    page: [],
    doorkeeper,
    ...passwords,
    ...(strangers && { strangers }),
    ...(waitingRoom && { waitingRoom }),
    host: "127.0.0.1",
    origin: undefined,
    basePath: "",
    api,
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
    client: createClient({ token, fetch: (url, init) => app.request(url, init, {}) }),
    owner: ownerId.parse("owner"),
    store,
    log,
    runner,
    model,
    memory,
    storing,
    doorkeeper,
    bugs,
    bearer,
    async ask(method, path, body, headers = {}) {
      const json = body === undefined ? {} : { "content-type": "application/json" };
      const init = { method, headers: { ...bearer, ...json, ...headers } };
      return app.request(path, body === undefined ? init : { ...init, body: toBody(body) }, {});
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
    },
  };
}

/** A text is sent as it is, so that a test can send what is not JSON. */
function toBody(body: unknown): string {
  return typeof body === "string" ? body : JSON.stringify(body);
}

function withRules(store: MemoryStore, rules: { readonly keepsAnswers: boolean }): MemoryStore {
  const { requests } = store;
  const find: typeof requests.find = async (...asked) =>
    rules.keepsAnswers ? requests.find(...asked) : null;
  return { ...store, requests: { find, keep: (request) => requests.keep(request) } };
}
