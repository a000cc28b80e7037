import { z } from "zod";
import { type Account, providerInfo, type KeySource } from "./accounts.ts";
import { type ConnectionLimits, openProviderConnection } from "./provider-connection.ts";
import {
  type ModelFacts,
  parseModelName,
  type Provider,
  providers,
  rehearsal,
} from "./model-info.ts";
import { modelTable } from "./model-table.ts";
import type { ModelRegistry } from "./registry.ts";

const listLimits: ConnectionLimits = { answerMs: 3_000, silenceMs: 3_000, bytes: 1024 * 1024 };
const cacheMs = 60_000;
const maxModels = 500;

const modelsAnswer = z.object({ data: z.array(z.object({ id: z.string().min(1).max(180) })) });

/** The models a server lists, cached for a minute. A server that does not answer lists none. */
export function createServerModels(
  now: () => number = Date.now,
): (account: Account) => Promise<readonly string[]> {
  const cache = new Map<string, { readonly until: number; readonly ids: Promise<string[]> }>();
  return (account) => {
    const { baseUrl } = account;
    const cached = cache.get(baseUrl);
    if (cached !== undefined && cached.until > now()) return cached.ids;
    const ids = fetchModelNames(account);
    cache.set(baseUrl, { until: now() + cacheMs, ids });
    return ids;
  };
}

async function fetchModelNames({ baseUrl, key }: Account): Promise<string[]> {
  const connection = openProviderConnection(listLimits);
  try {
    const headers = key === null ? {} : { authorization: `Bearer ${key}` };
    const response = await connection.fetch(`${baseUrl}/models`, { headers });
    if (!response.ok) return [];
    const { data } = modelsAnswer.parse(await response.json());
    return data.slice(0, maxModels).map(({ id }) => id);
  } catch {
    return [];
  } finally {
    connection.close();
  }
}

export interface ModelListing {
  readonly name: string;
  readonly provider: string;
  readonly facts: ModelFacts;
  readonly usable: boolean;
}

export interface ProviderListing {
  readonly provider: Provider;
  readonly title: string;
  readonly usable: boolean;
  readonly baseUrl: string | null;
  readonly key: KeySource;
  /** What to do if it is not usable. */
  readonly problem?: string;
}

export interface ModelList {
  readonly models: readonly ModelListing[];
  readonly providers: readonly ProviderListing[];
}

/** Every model that can be chosen: from the table, from servers, and those already chosen. */
export async function listModels(
  models: ModelRegistry,
  serverModels: (account: Account) => Promise<readonly string[]>,
): Promise<ModelList> {
  const listed = providers.map((provider) => describeProvider(models, provider));
  const served = await Promise.all(
    (["openai-compatible", "ollama"] as const).map(async (provider) => {
      const account = models.account(provider);
      if ("code" in account) return [];
      return (await serverModels(account)).map((id) => `${provider}/${id}`);
    }),
  );
  const names = new Set([rehearsal, models.defaultModel(), ...tableNames(), ...served.flat()]);
  return { models: [...names].map((name) => describeModel(models, name)), providers: listed };
}

function describeModel(models: ModelRegistry, name: string): ModelListing {
  const provider = parseModelName(name)?.provider ?? "unknown";
  return { name, provider, facts: models.facts(name), usable: models.check(name) === null };
}

function describeProvider(models: ModelRegistry, provider: Provider): ProviderListing {
  const { title } = providerInfo[provider];
  const account = models.account(provider);
  if ("code" in account) {
    const { message: problem, keyFrom: key = { from: "none" } } = account;
    return { provider, title, usable: false, baseUrl: null, key, problem };
  }
  const { baseUrl, keyFrom: key } = account;
  return { provider, title, usable: true, baseUrl, key };
}

/** A family without a price only covers names that are not known yet. */
function tableNames(): readonly string[] {
  const priced = modelTable.filter(
    ({ price, name }) => price !== undefined && !name.endsWith("/*"),
  );
  return priced.map(({ name }) => name.replace(/\*$/, ""));
}
