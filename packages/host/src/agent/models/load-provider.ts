import type { LanguageModel } from "ai";
import type { Account } from "./accounts.ts";

/** The provider packages' own door: one call, no retries, no tools run. Only objects pass it, never the name of a model. */
export type ProviderLanguageModel = Extract<LanguageModel, { specificationVersion: "v4" }>;

export type CallOptions = Parameters<ProviderLanguageModel["doStream"]>[0];
export type Prompt = CallOptions["prompt"];
export type PromptMessage = Prompt[number];
export type Tools = Extract<NonNullable<CallOptions["tools"]>[number], { type: "function" }>[];
type StreamResult = Awaited<ReturnType<ProviderLanguageModel["doStream"]>>;
export type StreamPart = StreamResult["stream"] extends ReadableStream<infer P> ? P : never;

export type OpenAiApi = "responses" | "chat";

/** The provider's package is loaded here, when it is first needed, and nowhere else. */
export async function loadLanguageModel(
  { provider, baseUrl: baseURL, key }: Account,
  id: string,
  rest: { readonly fetch: typeof fetch; readonly api: OpenAiApi },
): Promise<ProviderLanguageModel> {
  const { fetch, api } = rest;
  switch (provider) {
    case "anthropic": {
      const { createAnthropic } = await import("@ai-sdk/anthropic");
      return createAnthropic({ baseURL, apiKey: key ?? "", fetch }).languageModel(id);
    }
    case "openai": {
      const { createOpenAI } = await import("@ai-sdk/openai");
      const made = createOpenAI({ baseURL, apiKey: key ?? "", fetch });
      return api === "chat" ? made.chat(id) : made.responses(id);
    }
    case "google": {
      const { createGoogle } = await import("@ai-sdk/google");
      return createGoogle({ baseURL, apiKey: key ?? "", fetch }).languageModel(id);
    }
    case "openai-compatible":
    case "ollama": {
      const { createOpenAICompatible } = await import("@ai-sdk/openai-compatible");
      const withKey = key === null ? {} : { apiKey: key };
      // Under this name what is the package's own comes back, whatever the server is called.
      const name = "openaiCompatible";
      return createOpenAICompatible({ name, baseURL, fetch, includeUsage: true, ...withKey })(id);
    }
  }
}
