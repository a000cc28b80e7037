import type { Config } from "../../ops/config/settings.ts";
import type { Secrets } from "../../ops/secrets/secrets.ts";
import type { Provider } from "./model-info.ts";

/** A provider's base URL and its key, which belong together. */
export interface Account {
  readonly provider: Provider;
  readonly baseUrl: string;
  readonly key: string | null;
  readonly keyFrom: KeySource;
}

export type KeySource =
  | { readonly from: "environment"; readonly name: string }
  | { readonly from: "stored" }
  | { readonly from: "none" };

export type Environment = Readonly<Record<string, string | undefined>>;

type AddressSetting = "openaiBaseUrl" | "anthropicBaseUrl" | "googleBaseUrl" | "ollamaBaseUrl";

export interface AccountDeps {
  readonly config: Pick<Config, AddressSetting>;
  readonly environment: Environment;
  readonly secrets: Secrets;
  /** The address of a server found on this machine. It needs no key and is sent none. */
  readonly foundAddress?: (provider: Provider) => string | null;
}

interface ProviderInfo {
  readonly title: string;
  /** `null` if only the operator knows it. */
  readonly defaultBaseUrl: string | null;
  readonly setting: AddressSetting;
  readonly variables: readonly string[];
  readonly needsKey: "yes" | "no";
}

const openaiKeys = ["HOLDFAST_OPENAI_API_KEY", "OPENAI_API_KEY"] as const;

export const providerInfo: Readonly<Record<Provider, ProviderInfo>> = {
  anthropic: {
    title: "Anthropic",
    defaultBaseUrl: "https://api.anthropic.com/v1",
    setting: "anthropicBaseUrl",
    variables: ["HOLDFAST_ANTHROPIC_API_KEY", "ANTHROPIC_API_KEY"],
    needsKey: "yes",
  },
  openai: {
    title: "OpenAI",
    defaultBaseUrl: "https://api.openai.com/v1",
    setting: "openaiBaseUrl",
    variables: openaiKeys,
    needsKey: "yes",
  },
  google: {
    title: "Google",
    defaultBaseUrl: "https://generativelanguage.googleapis.com/v1beta",
    setting: "googleBaseUrl",
    variables: ["HOLDFAST_GOOGLE_API_KEY", "GEMINI_API_KEY", "GOOGLE_GENERATIVE_AI_API_KEY"],
    needsKey: "yes",
  },
  "openai-compatible": {
    title: "OpenAI-compatible server",
    defaultBaseUrl: null,
    setting: "openaiBaseUrl",
    variables: openaiKeys,
    needsKey: "no",
  },
  ollama: {
    title: "Ollama",
    defaultBaseUrl: "http://127.0.0.1:11434/v1",
    setting: "ollamaBaseUrl",
    variables: [],
    needsKey: "no",
  },
};

export type UnusableModel = {
  readonly code: "model_unknown" | "model_unusable";
  readonly message: string;
  /** A key is stored, but for another address. */
  readonly keyFrom?: { readonly from: "stored" };
};

/**
 * The current account: the operator's settings take precedence over what was stored in the page. A key is never sent to
 * an address it was not stored for, and an environment key never to an address from the page.
 */
export function findAccount(deps: AccountDeps, provider: Provider): Account | UnusableModel {
  const { defaultBaseUrl: own, variables, needsKey } = providerInfo[provider];
  const configured = configuredAddress(deps, provider);
  const stored = deps.secrets.read(provider);
  const variable = variables.find((name) => (deps.environment[name] ?? "") !== "");
  const operatorUrl = configured ?? own;
  if (variable !== undefined && operatorUrl !== null) {
    const key = deps.environment[variable] ?? "";
    return {
      provider,
      baseUrl: operatorUrl,
      key,
      keyFrom: { from: "environment", name: variable },
    };
  }
  if (stored !== null && (configured === undefined || configured === stored.baseUrl)) {
    const { baseUrl, key } = stored;
    return { provider, baseUrl, key, keyFrom: { from: "stored" } };
  }
  const found = deps.foundAddress?.(provider) ?? null;
  if (operatorUrl === null && found !== null && stored === null)
    return { provider, baseUrl: found, key: null, keyFrom: { from: "none" } };
  if (operatorUrl === null) return { code: "model_unusable", message: setupHint(provider) };
  if (needsKey === "yes") {
    if (stored === null) return { code: "model_unusable", message: setupHint(provider) };
    const sentence = `The stored key belongs to ${stored.baseUrl}, not to ${operatorUrl}: store the one for that.`;
    return { code: "model_unusable", message: sentence, keyFrom: { from: "stored" } };
  }
  return { provider, baseUrl: operatorUrl, key: null, keyFrom: { from: "none" } };
}

export function configuredAddress(
  { config }: Pick<AccountDeps, "config">,
  provider: Provider,
): string | undefined {
  return config[providerInfo[provider].setting].value ?? undefined;
}

/** One sentence that tells a person what to set. */
export function setupHint(provider: Provider): string {
  switch (provider) {
    case "anthropic":
      return "Set ANTHROPIC_API_KEY, or store a key for Anthropic in the settings.";
    case "openai":
      return "Set OPENAI_API_KEY, or store a key for OpenAI in the settings.";
    case "google":
      return "Set GEMINI_API_KEY, or store a key for Google in the settings.";
    case "openai-compatible":
      return "Set HOLDFAST_OPENAI_BASE_URL to the server's address (and HOLDFAST_OPENAI_API_KEY if it wants a key), or store both in the settings.";
    case "ollama":
      return "Start Ollama, or set HOLDFAST_OLLAMA_BASE_URL to where it runs.";
  }
}
