import { providerInfo, type KeySource } from "./accounts.ts";
import {
  type ModelFacts,
  parseModelName,
  type Provider,
  providers,
  rehearsal,
} from "./model-info.ts";
import { modelTable } from "./model-table.ts";
import type { ModelRegistry } from "./registry.ts";

export interface ModelListing {
  readonly name: string;
  readonly provider: string;
  readonly facts: ModelFacts;
  readonly usable: boolean;
  /** What a person should know before choosing it. */
  readonly warning: string | null;
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
export async function listModels(models: ModelRegistry): Promise<ModelList> {
  const served = await models.listServed();
  const listed = providers.map((provider) => describeProvider(models, provider));
  const names = new Set([rehearsal, models.defaultModel(), ...tableNames(), ...served]);
  return { models: [...names].map((name) => describeModel(models, name)), providers: listed };
}

function describeModel(models: ModelRegistry, name: string): ModelListing {
  const provider = parseModelName(name)?.provider ?? "unknown";
  const usable = models.check(name) === null;
  return { name, provider, facts: models.facts(name), usable, warning: models.warning(name) };
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
