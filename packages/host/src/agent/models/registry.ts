import type { Model, ModelEvent } from "@holdfast/engine";
import type { ReasoningEffort, SessionId } from "@holdfast/protocol";
import type { Config } from "../../ops/config/settings.ts";
import { createRedactor } from "../../ops/secrets/redact.ts";
import type { Secrets } from "../../ops/secrets/secrets.ts";
import {
  type Account,
  findAccount,
  configuredAddress,
  type Environment,
  providerInfo,
  type UnusableModel,
} from "./accounts.ts";
import {
  type AttachmentReader,
  factsOf,
  fallbacksOf,
  overrideOf,
  type ModelFacts,
  type ModelName,
  parseModelName,
  type Provider,
  providers,
  rehearsal,
  takesEffort,
} from "./model-info.ts";
import { defaultModels } from "./model-table.ts";
import type { ConnectionLimits } from "./provider-connection.ts";
import { createProviderModel } from "./provider-model.ts";
import { createRehearsalModel } from "./rehearsal.ts";
import { createKeyChecks, type KeyChecks } from "./servers/key-checks.ts";
import { createLocalServers, type LocalServers } from "./servers/local-servers.ts";
import { createServedModels, type ServedModels } from "./servers/served-models.ts";

export interface ModelRegistryDeps {
  readonly config: Pick<
    Config,
    | "model"
    | "smallModel"
    | "modelFallback"
    | "modelEffort"
    | "openaiBaseUrl"
    | "openaiApi"
    | "anthropicBaseUrl"
    | "googleBaseUrl"
    | "ollamaBaseUrl"
    | "models"
    | "localModels"
    | "spendPerRun"
    | "spendPerDay"
    | "spendPerSession"
  >;
  readonly environment: Environment;
  readonly secrets: Secrets;
  readonly limits?: ConnectionLimits;
  readonly served?: ServedModels;
  readonly local?: LocalServers;
  readonly keyChecks?: KeyChecks;
  /** Warns the operator. */
  readonly warn?: (message: string) => void;
}

/** Every model that can be named, as it can be reached now: keys and addresses change while the host runs. */
export interface ModelRegistry {
  /** The model of a session that names none. */
  defaultModel(): string;
  /** The model for titles and summaries of a session with this model. */
  smallModel(name: string): string;
  /** The models to fall back to, in order. */
  fallbacks(name: string): readonly string[];
  /** What is known about the model now. */
  facts(name: string): ModelFacts;
  /** The window, unless only its server could say, and has not. */
  knownWindow(name: string): number | null;
  /** Waits a moment for what the model's server says of it, if it has never answered. */
  learn(name: string): Promise<void>;
  /** The names of the models that servers list now. */
  listServed(): Promise<readonly string[]>;
  /** Learns what the models in use can do, and warns about missing prices. Returns the names that servers list. */
  prepare(): Promise<readonly string[]>;
  /** What a person should know before choosing the model. */
  warning(name: string): string | null;
  account(provider: Provider): Account | UnusableModel;
  /** What providers said about their keys. */
  readonly keyChecks: Pick<KeyChecks, "check" | "known">;
  /** The reasoning effort chosen for the model; `null` leaves it to the provider. */
  effort(name: string): ReasoningEffort | null;
  /** The operator's base URL for the provider, or its own. */
  address(provider: Provider): string | null;
  /** Why the model cannot be used, as far as that is known without a request. */
  check(name: string): UnusableModel | null;
  /** Always succeeds: an unusable model fails when it is called. */
  open(name: string, file?: AttachmentReader, effort?: ReasoningEffort | null): Model;
  /** Every known key, for redaction. */
  keys(): readonly string[];
}

interface ReachableModel {
  readonly id: string;
  readonly account: Account;
}

/** Providers whose models only the server knows. */
const serverProviders = ["openai-compatible", "ollama"] as const;
const providersWithDefaults = ["anthropic", "openai", "google"] as const;

/** Models from the settings, the environment and the stored keys. Providers are loaded on first use. */
export function createModelRegistry(deps: ModelRegistryDeps): ModelRegistry {
  const { config, environment, secrets, warn = () => {} } = deps;
  const { served = createServedModels(), local = createLocalServers() } = deps;
  const { keyChecks = createKeyChecks() } = deps;
  const usesLocalServers = config.localModels.value === "on";
  const rehearsalModel = createRehearsalModel();
  const withoutReasoning = new Set<SessionId>();
  const withoutTools = new Set<string>();
  const withoutSummaries = new Set<string>();
  const foundAddress = (provider: Provider): string | null =>
    provider === "openai-compatible" ? local.lmStudio() : null;
  const account: ModelRegistry["account"] = (provider) =>
    findAccount({ ...deps, foundAddress }, provider);
  const keys = (): readonly string[] => [...secrets.keys(), ...keysIn(environment)];
  const redact = createRedactor(keys);

  function check(name: string): UnusableModel | null {
    const parsed = parseModelName(name);
    if (parsed === null) return unknownModel(name);
    if (parsed.provider === rehearsal) return null;
    const found = account(parsed.provider);
    return "code" in found ? found : null;
  }

  function facts(name: string): ModelFacts {
    const model = servedModel(name);
    return factsOf(name, config.models.value, model && served.known(model.account, model.id));
  }

  function knownWindow(name: string): number | null {
    const model = servedModel(name);
    const isTold = model === null || served.known(model.account, model.id) !== null;
    const own = overrideOf(name, config.models.value)?.window;
    return isTold ? facts(name).window : (own ?? null);
  }

  async function learn(name: string): Promise<void> {
    const model = servedModel(name);
    if (model !== null) await served.learn(model.account);
  }

  function servedModel(name: string): ReachableModel | null {
    const parsed = parseModelName(name);
    const provider = serverProviders.find((candidate) => candidate === parsed?.provider);
    if (provider === undefined || parsed === null || !("id" in parsed)) return null;
    const found = account(provider);
    return "code" in found ? null : { id: parsed.id, account: found };
  }

  async function listServed(): Promise<readonly string[]> {
    if (usesLocalServers) await local.probe();
    const names = serverProviders.map(async (provider) => {
      const found = account(provider);
      if ("code" in found || !mayAsk(found)) return [];
      return (await served.list(found)).map(({ id }) => `${provider}/${id}`);
    });
    return (await Promise.all(names)).flat();
  }

  /** Ollama's default address is asked, without being configured, only if local models are looked for. */
  function mayAsk({ provider, keyFrom }: Account): boolean {
    const isNamed = configuredAddress(deps, provider) !== undefined || keyFrom.from !== "none";
    return isNamed || usesLocalServers;
  }

  function warning(name: string): string | null {
    const limits = [
      config.spendPerRun.value,
      config.spendPerDay.value,
      config.spendPerSession.value,
    ];
    const isLimited = limits.some((limit) => limit !== undefined);
    if (!isLimited || name === rehearsal || facts(name).price !== undefined) return null;
    return `No price is known for ${name}, so spend limits do not count its cost: set one under models in the configuration.`;
  }

  const warned = new Set<string>();
  function warnOnce(name: string): void {
    const text = warned.has(name) ? null : warning(name);
    if (text === null) return;
    warned.add(name);
    warn(text);
  }

  async function prepare(): Promise<readonly string[]> {
    const names = await listServed();
    const usual = defaultModel();
    for (const name of [usual, ...fallbacks(usual)]) warnOnce(name);
    return names;
  }

  function fallbacks(name: string): readonly string[] {
    return fallbacksOf(name, config.models.value, config.modelFallback.value);
  }

  function defaultModel(): string {
    if (config.model.value !== undefined) return config.model.value;
    const ready = providersWithDefaults.find((candidate) => !("code" in account(candidate)));
    return ready === undefined ? rehearsal : defaultModels[ready].answers;
  }

  function smallModel(name: string): string {
    if (config.smallModel.value !== undefined) return config.smallModel.value;
    const providerName = parseModelName(name)?.provider;
    const provider = providersWithDefaults.find((candidate) => candidate === providerName);
    if (provider === undefined) return name;
    // Another server under the provider's name may not have that model.
    const found = account(provider);
    const isOwnApi = "baseUrl" in found && found.baseUrl === providerInfo[provider].defaultBaseUrl;
    return isOwnApi ? defaultModels[provider].small : name;
  }

  async function* streamFrom(
    name: string,
    file: AttachmentReader | undefined,
    ownEffort: ReasoningEffort | null,
    args: Parameters<Model["stream"]>,
  ): AsyncGenerator<ModelEvent> {
    const parsed = parseModelName(name);
    const found = parsed === null ? unknownModel(name) : resolve(parsed);
    if (found === rehearsal) yield* rehearsalModel.stream(...args);
    else if ("code" in found) yield notConfigured(found);
    else {
      await learn(name);
      warnOnce(name);
      yield* recordKeyState(
        found.account,
        providerModel(name, found, file, ownEffort).stream(...args),
      );
    }
  }

  /** What a call shows about the key is remembered, so that the settings never show a rejected key as good. */
  async function* recordKeyState(
    used: Account,
    events: AsyncIterable<ModelEvent>,
  ): AsyncGenerator<ModelEvent> {
    for await (const event of events) {
      if (event.kind !== "failed") keyChecks.record(used, "verified");
      else if (event.failure.code === "model_unauthorized") keyChecks.record(used, "rejected");
      yield event;
    }
  }

  function providerModel(
    name: string,
    model: ReachableModel,
    file: AttachmentReader | undefined,
    ownEffort: ReasoningEffort | null,
  ): Model {
    return createProviderModel({
      name,
      ...model,
      facts: facts(name),
      effort: (takesEffort(name, facts(name)) ? ownEffort : null) ?? effort(name),
      api: config.openaiApi.value,
      withoutReasoning,
      withoutTools,
      withoutSummaries,
      redact,
      ...(file && { file }),
      ...(deps.limits && { limits: deps.limits }),
    });
  }

  function effort(name: string): ReasoningEffort | null {
    const chosen = Object.hasOwn(config.modelEffort.value, name)
      ? config.modelEffort.value[name]
      : null;
    return takesEffort(name, facts(name)) ? (chosen ?? null) : null;
  }

  function resolve(parsed: ModelName): typeof rehearsal | UnusableModel | ReachableModel {
    if (parsed.provider === rehearsal) return rehearsal;
    const found = account(parsed.provider);
    return "code" in found ? found : { id: parsed.id, account: found };
  }

  return {
    defaultModel,
    smallModel,
    fallbacks,
    facts,
    knownWindow,
    learn,
    listServed,
    prepare,
    warning,
    account,
    keyChecks,
    effort,
    address: (provider) =>
      configuredAddress(deps, provider) ?? providerInfo[provider].defaultBaseUrl,
    check,
    keys,
    open: (name, file, ownEffort = null) => ({
      stream: (...args) => streamFrom(name, file, ownEffort, args),
    }),
  };
}

function notConfigured({ code, message }: UnusableModel): ModelEvent {
  return { kind: "failed", failure: { class: "auth", code, message } };
}

function unknownModel(name: string): UnusableModel {
  const forms = `rehearsal, ${providers.map((provider) => `${provider}/…`).join(", ")}`;
  return {
    code: "model_unknown",
    message: `There is no model ${name.slice(0, 80)}: a model is one of ${forms}.`,
  };
}

function keysIn(environment: Environment): readonly string[] {
  const names = new Set(providers.flatMap((provider) => providerInfo[provider].variables));
  return [...names].flatMap((name) => environment[name] ?? []);
}
