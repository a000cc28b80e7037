import type { LanguageModel } from "ai";
import type { Account } from "./accounts.ts";
import { ignoreUnknownEvents } from "./anthropic-events.ts";
import { askOllamaForContext } from "./servers/ollama-chat.ts";

/**
 * The provider packages' lowest-level interface: one call, no retries, no tools run. A model object, never its name.
 */
export type ProviderLanguageModel = Extract<LanguageModel, { specificationVersion: "v4" }>;

export type CallOptions = Parameters<ProviderLanguageModel["doStream"]>[0];
export type Prompt = CallOptions["prompt"];
export type PromptMessage = Prompt[number];
export type Tools = Extract<NonNullable<CallOptions["tools"]>[number], { type: "function" }>[];
type StreamResult = Awaited<ReturnType<ProviderLanguageModel["doStream"]>>;
export type StreamPart = StreamResult["stream"] extends ReadableStream<infer P> ? P : never;

export type OpenAiApi = "responses" | "chat";

export interface ProviderOptions {
  readonly fetch: typeof globalThis.fetch;
  readonly api: OpenAiApi;
  /** The context size to ask Ollama for; without it, the server decides. */
  readonly contextTokens: number | undefined;
}

/** Provider packages are loaded here on first use, and nowhere else. */
export async function loadLanguageModel(
  { provider, baseUrl: baseURL, key }: Account,
  id: string,
  options: ProviderOptions,
): Promise<ProviderLanguageModel> {
  const { fetch, api, contextTokens } = options;
  switch (provider) {
    case "anthropic": {
      const { createAnthropic } = await import("@ai-sdk/anthropic");
      const knownOnly = ignoreUnknownEvents(fetch);
      return createAnthropic({ baseURL, apiKey: key ?? "", fetch: knownOnly }).languageModel(id);
    }
    case "openai": {
      const { createOpenAI } = await import("@ai-sdk/openai");
      const openai = createOpenAI({ baseURL, apiKey: key ?? "", fetch });
      return api === "chat" ? openai.chat(id) : openai.responses(id);
    }
    case "google": {
      const { createGoogle } = await import("@ai-sdk/google");
      return createGoogle({ baseURL, apiKey: key ?? "", fetch }).languageModel(id);
    }
    case "openai-compatible":
    case "ollama": {
      const { createOpenAICompatible } = await import("@ai-sdk/openai-compatible");
      const withKey = key === null ? {} : { apiKey: key };
      // The package returns its own metadata under this name, whatever the server is called.
      const name = "openaiCompatible";
      const chat = contextTokens === undefined ? fetch : askOllamaForContext(fetch, contextTokens);
      const shared = { name, baseURL, fetch: chat, includeUsage: true };
      return createOpenAICompatible({ ...shared, ...withKey })(id);
    }
  }
}
