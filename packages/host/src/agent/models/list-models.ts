import { type ReasoningEffort, reasoningEffort } from "@holdfast/protocol";
import { providerInfo, type KeySource } from "./accounts.ts";
import {
  type ModelFacts,
  parseModelName,
  type Provider,
  providers,
  rehearsal,
  takesEffort,
} from "./model-info.ts";
import { modelTable } from "./model-table.ts";
import type { ModelRegistry } from "./registry.ts";
import type { KeyCheck } from "./servers/key-checks.ts";
import { titleOf } from "./model-title.ts";

export interface ModelListing {
  readonly name: string;
  readonly provider: string;
  readonly facts: ModelFacts;
  readonly title: string | null;
  readonly efforts: readonly ReasoningEffort[];
  readonly effort: ReasoningEffort | null;
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
  readonly check: KeyCheck;
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
  const facts = models.facts(name);
  return {
    name,
    provider,
    facts,
    title: titleOf(name),
    efforts: takesEffort(name, facts) ? reasoningEffort.options : [],
    effort: models.effort(name),
    usable,
    warning: models.warning(name),
  };
}

export function describeProvider(models: ModelRegistry, provider: Provider): ProviderListing {
  const { title } = providerInfo[provider];
  const account = models.account(provider);
  if ("code" in account) {
    const { message: problem, keyFrom: key = { from: "none" } } = account;
    const check: KeyCheck = { state: "unverified" };
    return { provider, title, usable: false, baseUrl: null, key, problem, check };
  }
  const { baseUrl, keyFrom: key } = account;
  return { provider, title, usable: true, baseUrl, key, check: models.keyChecks.known(account) };
}

/** A family without a price only covers names that are not known yet. */
function tableNames(): readonly string[] {
  const priced = modelTable.filter(
    ({ price, name }) => price !== undefined && !name.endsWith("/*"),
  );
  return priced.map(({ name }) => name.replace(/\*$/, ""));
}
