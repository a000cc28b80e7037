import { systemClock } from "@holdfast/engine";
import { withTimeout } from "@holdfast/protocol";

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
/** For everything that one server is asked in a row. */
const askTimeoutMs = 15_000;
/** A person who looks at the list wants what is served now. */
const listAgeMs = 60_000;
/** A run asks again in the background; what is known meanwhile still counts. */
const runAgeMs = 10 * 60_000;
/** Of a server that stopped answering. */
const keptMs = 60 * 60_000;
/** How long the first run waits for what the server says of its model. */
const firstAnswerMs = 2_000;
const maxServers = 16;
const keptWindow = 16_384;
const maxDetails = 64;
const detailsAtOnce = 4;

/** What servers say of their models, kept for a while. A server that does not answer says nothing. */
export interface ServedModels {
  /** Without asking. */
  known(account: Account, id: string): ServedModel | null;
  list(account: Account): Promise<readonly ServedModel[]>;
  /** Asks unless it did lately. Waits a moment, and only for a server that has never answered. */
  learn(account: Account): Promise<void>;
}

interface ServerEntry {
  askedAt: number;
  answeredAt: number;
  asking: Promise<void>;
  models: ReadonlyMap<string, ServedModel>;
  /** Of Ollama's models, each asked for on its own. */
  readonly details: Map<string, { readonly at: number; readonly model: Omit<ServedModel, "id"> }>;
}

export interface ServedModelsOptions {
  readonly now?: () => number;
  /** Ends questions that are under way. */
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
    for (const oldest of servers.keys()) if (servers.size > maxServers) servers.delete(oldest);
    return entry;
  }

  async function ask(entry: ServerEntry, account: Account): Promise<void> {
    const asked = await askServer(account, { details: entry.details, now, signal }).catch(
      () => null,
    );
    if (asked !== null) {
      entry.models = new Map(asked.map((model) => [model.id, model]));
      entry.answeredAt = now();
    } else if (now() - entry.answeredAt > keptMs) entry.models = new Map();
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
      // One that did not answer now lists nothing, whatever is still known of it.
      if (entry.answeredAt < entry.askedAt) return [];
      return [...entry.models.values()].filter(({ chats }) => chats !== false);
    },
    async learn(account) {
      const hasAnswered = entryOf(account).answeredAt > -Infinity;
      const entry = refresh(account, hasAnswered ? runAgeMs : listAgeMs);
      if (hasAnswered) return;
      await withTimeout({ clock: systemClock, ms: firstAnswerMs }, () => entry.asking);
    },
  };
}

/** Ollama's list has a tag on every name; people leave out the usual one. */
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
  // Other paths are asked without the key: it belongs to the base URL.
  const root = baseUrl.replace(/\/v1$/, "");
  try {
    const headers = key === null ? {} : { authorization: `Bearer ${key}` };
    const { owner, models } = readModelList(await get(`${baseUrl}/models`, { headers }));
    if (provider === "ollama")
      return owner === undefined
        ? models
        : await askOllama(root, models, { get, details, now, hasKey: key !== null });
    if (owner === "llamacpp" && models.length === 1) {
      const props = await get(`${root}/props`).then(readLlamaProps, () => ({}));
      return models.map((model) => ({ ...model, ...props }));
    }
    if (owner === "organization_owner") {
      const found = await get(`${root}/api/v0/models`).then(readLmStudioModels, () => []);
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
      const answer = await get(`${root}/api/show`, { method: "POST", headers, body }).catch(
        () => null,
      );
      if (answer !== null) details.set(id, { at: now(), model: readOllamaModel(answer) });
    }
  };
  await Promise.all(Array.from({ length: detailsAtOnce }, askNext));
  const loaded = await get(`${root}/api/ps`).then(
    readOllamaLoaded,
    () => new Map<string, number>(),
  );
  return models.map((model) => {
    const described = details.get(model.id)?.model;
    const loadedWindow = loaded.get(model.id) ?? 0;
    // Its own API is asked without a key, so a server that wants one decides about the window itself.
    const takesWindow = described !== undefined && !hasKey;
    // Asking for another window reloads the model. A small one is what the server takes when nobody asks.
    const isKept = loadedWindow >= keptWindow || (loadedWindow > 0 && !takesWindow);
    return { ...model, ...described, takesWindow, ...(isKept && { window: loadedWindow }) };
  });
}
