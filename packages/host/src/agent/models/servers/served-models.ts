import { systemClock } from "@holdfast/engine";
import { dropOldest, withTimeout } from "@holdfast/protocol";

import type { Account } from "../accounts.ts";
import { type ConnectionLimits, openProviderConnection } from "../provider-connection.ts";
import {
  readLlamaProps,
  readLmStudioModels,
  readModelList,
  readOllamaLoaded,
  readOllamaModel,
  type ServedModel,
} from "./served-model.ts";

const megabyte = 1024 * 1024;
const askLimits: ConnectionLimits = { answerMs: 3_000, silenceMs: 3_000, bytes: 16 * megabyte };
/** For all requests to one server in a row. */
const askTimeoutMs = 15_000;
/** A person looking at the list wants to see what is served now. */
const listAgeMs = 60_000;
/** A run refreshes older facts in the background, and uses them until then. */
const runAgeMs = 10 * 60_000;
/** Older facts are used only if the server does not answer in time. */
const maxStaleMs = 60 * 60_000;
/** How long a run waits for a server that has not answered for long, or never. */
const firstAnswerMs = 2_000;
const maxServers = 16;
const minKeptWindow = 16_384;
const maxDetails = 64;
const detailsAtOnce = 4;

/** Caches what servers report about their models. A server that does not answer counts as reporting nothing. */
export interface ServedModels {
  /** What is known without asking the server. */
  known(account: Account, id: string): ServedModel | null;
  list(account: Account): Promise<readonly ServedModel[]>;
  /** Asks unless it did recently. Waits briefly, and only for a server that has not answered for long, or never. */
  learn(account: Account): Promise<void>;
}

interface ServerEntry {
  askedAt: number;
  answeredAt: number;
  asking: Promise<void>;
  models: ReadonlyMap<string, ServedModel>;
  /** Ollama reports details for one model at a time. */
  readonly details: Map<string, { readonly at: number; readonly model: Omit<ServedModel, "id"> }>;
}

export interface ServedModelsOptions {
  readonly now?: () => number;
  /** Aborts requests in progress. */
  readonly signal?: AbortSignal;
}

export function createServedModels(options: ServedModelsOptions = {}): ServedModels {
  const { now = Date.now, signal } = options;
  const servers = new Map<string, ServerEntry>();

  function entryOf({ baseUrl }: Account): ServerEntry {
    const entry = servers.get(baseUrl) ?? {
      askedAt: -Infinity,
      answeredAt: -Infinity,
      asking: Promise.resolve(),
      models: new Map(),
      details: new Map(),
    };
    servers.set(baseUrl, entry);
    dropOldest(servers, maxServers);
    return entry;
  }

  async function ask(entry: ServerEntry, account: Account): Promise<void> {
    const asked = await askServer(account, { details: entry.details, now, signal }).catch(
      () => null,
    );
    if (asked !== null) {
      entry.models = new Map(asked.map((model) => [model.id, model]));
      entry.answeredAt = now();
    }
  }

  function refresh(account: Account, maxAgeMs: number): ServerEntry {
    const entry = entryOf(account);
    if (now() - entry.askedAt < maxAgeMs) return entry;
    entry.askedAt = now();
    entry.asking = ask(entry, account);
    return entry;
  }

  return {
    known: (account, id) =>
      servers.get(account.baseUrl)?.models.get(nameOnServer(account, id)) ?? null,
    async list(account) {
      const entry = refresh(account, listAgeMs);
      await entry.asking;
      // A server that did not answer this time lists nothing, whatever is still known about it.
      if (entry.answeredAt < entry.askedAt) return [];
      return [...entry.models.values()].filter(({ chats }) => chats !== false);
    },
    async learn(account) {
      const isRecent = now() - entryOf(account).answeredAt < maxStaleMs;
      const entry = refresh(account, isRecent ? runAgeMs : listAgeMs);
      if (isRecent) return;
      await withTimeout({ clock: systemClock, ms: firstAnswerMs }, () => entry.asking);
    },
  };
}

/** Every name in Ollama's list has a tag; people leave out the default one. */
function nameOnServer({ provider }: Account, id: string): string {
  return provider === "ollama" && !id.includes(":") ? `${id}:latest` : id;
}

interface AskDeps {
  readonly details: ServerEntry["details"];
  readonly now: () => number;
  readonly signal: AbortSignal | undefined;
}

async function askServer(
  account: Account,
  { details, now, signal: stopping }: AskDeps,
): Promise<readonly ServedModel[]> {
  const { baseUrl, key, provider } = account;
  const connection = openProviderConnection(askLimits);
  const timeout = AbortSignal.timeout(askTimeoutMs);
  const signal = stopping === undefined ? timeout : AbortSignal.any([timeout, stopping]);
  const get = async (url: string, init: RequestInit = {}): Promise<unknown> => {
    const response = await connection.fetch(url, { ...init, signal });
    if (!response.ok) throw new Error(`It answered with status ${response.status}.`);
    return response.json();
  };
  // Other paths are asked without the key: it belongs to the base URL. They only add to the list.
  const root = baseUrl.replace(/\/v1$/, "");
  try {
    const headers = key === null ? {} : { authorization: `Bearer ${key}` };
    const { owner, models } = readModelList(await get(`${baseUrl}/models`, { headers }));
    if (provider === "ollama")
      return owner === undefined
        ? models
        : await askOllama(root, models, { get, details, now, hasKey: key !== null });
    if (owner === "llamacpp" && models.length === 1) {
      const props = await get(`${root}/props`)
        .then(readLlamaProps)
        .catch(() => ({}));
      return models.map((model) => ({ ...model, ...props }));
    }
    if (owner === "organization_owner") {
      const found = await get(`${root}/api/v0/models`)
        .then(readLmStudioModels)
        .catch(() => []);
      const byId = new Map(found.map((model) => [model.id, model]));
      return models.map((model) => ({ ...model, ...byId.get(model.id) }));
    }
    return models;
  } finally {
    connection.close();
  }
}

interface OllamaDeps {
  readonly get: (url: string, init?: RequestInit) => Promise<unknown>;
  readonly details: ServerEntry["details"];
  readonly now: () => number;
  readonly hasKey: boolean;
}

async function askOllama(
  root: string,
  models: readonly ServedModel[],
  { get, details, now, hasKey }: OllamaDeps,
): Promise<readonly ServedModel[]> {
  const due = models
    .slice(0, maxDetails)
    .filter(({ id }) => now() - (details.get(id)?.at ?? -Infinity) > runAgeMs);
  for (const id of details.keys()) if (!models.some((model) => model.id === id)) details.delete(id);
  const askNext = async (): Promise<void> => {
    for (let next = due.shift(); next !== undefined; next = due.shift()) {
      const { id } = next;
      const body = JSON.stringify({ model: id });
      const headers = { "content-type": "application/json" };
      const model = await get(`${root}/api/show`, { method: "POST", headers, body })
        .then(readOllamaModel)
        .catch(() => null);
      if (model !== null) details.set(id, { at: now(), model });
    }
  };
  await Promise.all(Array.from({ length: detailsAtOnce }, askNext));
  const loaded = await get(`${root}/api/ps`)
    .then(readOllamaLoaded)
    .catch(() => new Map<string, number>());
  return models.map((model) => {
    const described = details.get(model.id)?.model;
    const loadedWindow = loaded.get(model.id) ?? 0;
    // Ollama's own API is called without a key, so a server that needs one decides on the window itself.
    const takesWindow = described !== undefined && !hasKey;
    // Asking for another window reloads the model. A small window is only the server's default.
    const isKept = loadedWindow >= minKeptWindow || (loadedWindow > 0 && !takesWindow);
    return { ...model, ...described, takesWindow, ...(isKept && { window: loadedWindow }) };
  });
}
