import { type Account, providerInfo, type KeySource } from "./accounts.ts";
import type { ModelFacts } from "./model-facts.ts";
import { parseModelName, type Provider, providers, rehearsal } from "./model-name.ts";
import { modelTable } from "./model-table.ts";
import type { ModelRegistry } from "./registry.ts";

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
  /** What to do, where it is not usable. */
  readonly problem?: string;
}

export interface ModelList {
  readonly models: readonly ModelListing[];
  readonly providers: readonly ProviderListing[];
}

/** Everything that can be chosen: what the table knows, what servers serve, and what is chosen already. */
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

/** A family without a price is there for names that nobody knows yet. */
function tableNames(): readonly string[] {
  const priced = modelTable.filter(
    ({ price, name }) => price !== undefined && !name.endsWith("/*"),
  );
  return priced.map(({ name }) => name.replace(/\*$/, ""));
}
