import type { Model, ModelEvent } from "@holdfast/engine";
import type { BlobId, SessionId } from "@holdfast/protocol";
import type { Config } from "../../ops/config/settings.ts";
import { createRedactor } from "../../ops/secrets/redact.ts";
import { type Secrets, openSecrets } from "../../ops/secrets/secrets.ts";
import {
  type Account,
  findAccount,
  configuredAddress,
  type Environment,
  providerInfo,
  type UnusableModel,
} from "./accounts.ts";
import {
  factsOf,
  fallbacksOf,
  type ModelFacts,
  type ModelName,
  parseModelName,
  type Provider,
  providers,
  rehearsal,
} from "./model-info.ts";
import { defaultModels } from "./model-table.ts";
import type { ConnectionLimits } from "./provider-connection.ts";
import { createProviderModel } from "./provider-model.ts";
import { createRehearsalModel } from "./rehearsal.ts";

export interface ModelRegistryDeps {
  readonly config: Pick<
    Config,
    | "model"
    | "smallModel"
    | "modelFallback"
    | "openaiBaseUrl"
    | "openaiApi"
    | "anthropicBaseUrl"
    | "googleBaseUrl"
    | "ollamaBaseUrl"
    | "models"
  >;
  readonly environment: Environment;
  readonly secrets: Secrets;
  readonly limits?: ConnectionLimits;
}

export type ImageReader = (blobId: BlobId) => Promise<Uint8Array | null>;

/** Every model that can be named, as it can be reached at this moment: keys and addresses come and go while we run. */
export interface ModelRegistry {
  /** Who answers in a session that names nobody. */
  defaultModel(): string;
  /** Who does the small things (titles, summaries) for a session with this model. */
  smallModel(name: string): string;
  /** Who answers when this one cannot, in this order. */
  fallbacks(name: string): readonly string[];
  facts(name: string): ModelFacts;
  account(provider: Provider): Account | UnusableModel;
  /** Where the operator has it served, or the provider itself serves. */
  address(provider: Provider): string | null;
  /** What keeps it from being asked, as far as that is known without asking. */
  check(name: string): UnusableModel | null;
  /** Never fails to be made: one that cannot be asked says so when it is. */
  open(name: string, image?: ImageReader): Model;
  /** Every key that is known here: for taking them out of what leaves. */
  keys(): readonly string[];
}

interface ReachableModel {
  readonly id: string;
  readonly account: Account;
}

const providersWithDefaults = ["anthropic", "openai", "google"] as const;

export function createModelRegistry(parts: ModelRegistryDeps): ModelRegistry {
  const { config, environment, secrets } = parts;
  const rehearsals = createRehearsalModel();
  const thoughtless = new Set<SessionId>();
  const facts = (name: string): ModelFacts => factsOf(name, config.models.value);
  const account: ModelRegistry["account"] = (provider) => findAccount(parts, provider);
  const keys = (): readonly string[] => [...secrets.keys(), ...keysIn(environment)];
  const redact = createRedactor(keys);

  function check(name: string): UnusableModel | null {
    const parsed = parseModelName(name);
    if (parsed === null) return unknownModel(name);
    if (parsed.provider === rehearsal) return null;
    const found = account(parsed.provider);
    return "code" in found ? found : null;
  }

  function usual(): string {
    if (config.model.value !== undefined) return config.model.value;
    const ready = providersWithDefaults.find((each) => !("code" in account(each)));
    return ready === undefined ? rehearsal : defaultModels[ready].answers;
  }

  function small(name: string): string {
    if (config.smallModel.value !== undefined) return config.smallModel.value;
    const named = parseModelName(name)?.provider;
    const provider = providersWithDefaults.find((each) => each === named);
    if (provider === undefined) return name;
    // Another server under a provider's name may not have it.
    const found = account(provider);
    const isAtHome = "baseUrl" in found && found.baseUrl === providerInfo[provider].own;
    return isAtHome ? defaultModels[provider].small : name;
  }

  async function* streamFrom(
    name: string,
    image: ImageReader | undefined,
    args: Parameters<Model["stream"]>,
  ): AsyncGenerator<ModelEvent> {
    const parsed = parseModelName(name);
    const found = parsed === null ? unknownModel(name) : reach(parsed);
    if (found === rehearsal) yield* rehearsals.stream(...args);
    else if ("code" in found) yield notConfigured(found);
    else yield* providerModel(name, found, image).stream(...args);
  }

  function providerModel(
    name: string,
    reached: ReachableModel,
    image: ImageReader | undefined,
  ): Model {
    return createProviderModel({
      name,
      ...reached,
      facts: facts(name),
      api: config.openaiApi.value,
      withoutReasoning: thoughtless,
      redact,
      ...(image && { image }),
      ...(parts.limits && { limits: parts.limits }),
    });
  }

  function reach(parsed: ModelName): typeof rehearsal | UnusableModel | ReachableModel {
    if (parsed.provider === rehearsal) return rehearsal;
    const found = account(parsed.provider);
    return "code" in found ? found : { id: parsed.id, account: found };
  }

  return {
    defaultModel: usual,
    smallModel: small,
    fallbacks: (name) => fallbacksOf(name, config.models.value, config.modelFallback.value),
    facts,
    account,
    address: (provider) => configuredAddress(parts, provider) ?? providerInfo[provider].own,
    check,
    keys,
    open: (name, image) => ({ stream: (...args) => streamFrom(name, image, args) }),
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

/** The models that the settings, the environment and the stored keys give. A provider is loaded when it is first asked. */
export function openModelRegistry(
  config: Config,
  environment: Readonly<Record<string, string | undefined>>,
  report: (error: Error) => void,
): { readonly models: ModelRegistry; readonly secrets: Secrets } {
  const secrets = openSecrets(config.home.value, report);
  return { secrets, models: createModelRegistry({ config, environment, secrets }) };
}
