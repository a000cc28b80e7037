import type { Model, ModelEvent } from "@holdfast/engine";
import type { BlobId, SessionId } from "@holdfast/protocol";

import type { Config } from "../../ops/config/settings.ts";
import { createRedactor } from "../../ops/secrets/redact.ts";
import type { Secrets } from "../../ops/secrets/secrets.ts";
import {
  type Account,
  accountOf,
  configuredAddress,
  type Environment,
  issuers,
  type Unusable,
} from "./accounts.ts";
import { factsOf, fallbacksOf, type ModelFacts } from "./model-facts.ts";
import {
  type ModelName,
  parseModelName,
  type Provider,
  providers,
  rehearsal,
} from "./model-name.ts";
import { usualModels } from "./model-table.ts";
import type { ConnectionLimits } from "./provider-connection.ts";
import { createProviderModel } from "./provider-model.ts";
import { createRehearsalModel } from "./models-rehearsal.ts";

export interface ModelsParts {
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
export interface Models {
  /** Who answers in a session that names nobody. */
  usual(): string;
  /** Who does the small things (titles, summaries) for a session with this model. */
  small(name: string): string;
  /** Who answers when this one cannot, in this order. */
  fallbacks(name: string): readonly string[];
  facts(name: string): ModelFacts;
  account(provider: Provider): Account | Unusable;
  /** Where the operator has it served, or the provider itself serves. */
  address(provider: Provider): string | null;
  /** What keeps it from being asked, as far as that is known without asking. */
  check(name: string): Unusable | null;
  /** Never fails to be made: one that cannot be asked says so when it is. */
  open(name: string, image?: ImageReader): Model;
  /** Every key that is known here: for taking them out of what leaves. */
  keys(): readonly string[];
}

interface Reached {
  readonly id: string;
  readonly account: Account;
}

const withUsualModels = ["anthropic", "openai", "google"] as const;

export function createModels(parts: ModelsParts): Models {
  const { config, environment, secrets } = parts;
  const rehearsals = createRehearsalModel();
  const thoughtless = new Set<SessionId>();
  const facts = (name: string): ModelFacts => factsOf(name, config.models.value);
  const account: Models["account"] = (provider) => accountOf(parts, provider);
  const keys = (): readonly string[] => [...secrets.keys(), ...keysIn(environment)];
  const redact = createRedactor(keys);

  function check(name: string): Unusable | null {
    const parsed = parseModelName(name);
    if (parsed === null) return unknownModel(name);
    if (parsed.provider === rehearsal) return null;
    const found = account(parsed.provider);
    return "code" in found ? found : null;
  }

  function usual(): string {
    if (config.model.value !== undefined) return config.model.value;
    const ready = withUsualModels.find((each) => !("code" in account(each)));
    return ready === undefined ? rehearsal : usualModels[ready].answers;
  }

  function small(name: string): string {
    if (config.smallModel.value !== undefined) return config.smallModel.value;
    const named = parseModelName(name)?.provider;
    const provider = withUsualModels.find((each) => each === named);
    if (provider === undefined) return name;
    // Another server under a provider's name may not have it.
    const found = account(provider);
    const isAtHome = "baseUrl" in found && found.baseUrl === issuers[provider].own;
    return isAtHome ? usualModels[provider].small : name;
  }

  async function* streamFrom(
    name: string,
    image: ImageReader | undefined,
    args: Parameters<Model["stream"]>,
  ): AsyncGenerator<ModelEvent> {
    const parsed = parseModelName(name);
    const found = parsed === null ? unknownModel(name) : reach(parsed);
    if (found === rehearsal) yield* rehearsals.stream(...args);
    else if ("code" in found) yield notSetUp(found);
    else yield* providerModel(name, found, image).stream(...args);
  }

  function providerModel(name: string, reached: Reached, image: ImageReader | undefined): Model {
    return createProviderModel({
      name,
      ...reached,
      facts: facts(name),
      api: config.openaiApi.value,
      thoughtless,
      redact,
      ...(image && { image }),
      ...(parts.limits && { limits: parts.limits }),
    });
  }

  function reach(parsed: ModelName): typeof rehearsal | Unusable | Reached {
    if (parsed.provider === rehearsal) return rehearsal;
    const found = account(parsed.provider);
    return "code" in found ? found : { id: parsed.id, account: found };
  }

  return {
    usual,
    small,
    fallbacks: (name) => fallbacksOf(name, config.models.value, config.modelFallback.value),
    facts,
    account,
    address: (provider) => configuredAddress(parts, provider) ?? issuers[provider].own,
    check,
    keys,
    open: (name, image) => ({ stream: (...args) => streamFrom(name, image, args) }),
  };
}

function notSetUp({ code, sentence: message }: Unusable): ModelEvent {
  return { kind: "failed", failure: { class: "auth", code, message } };
}

function unknownModel(name: string): Unusable {
  const forms = `rehearsal, ${providers.map((provider) => `${provider}/…`).join(", ")}`;
  return {
    code: "model_unknown",
    sentence: `There is no model ${name.slice(0, 80)}: a model is one of ${forms}.`,
  };
}

function keysIn(environment: Environment): readonly string[] {
  const names = new Set(providers.flatMap((provider) => issuers[provider].variables));
  return [...names].flatMap((name) => environment[name] ?? []);
}
