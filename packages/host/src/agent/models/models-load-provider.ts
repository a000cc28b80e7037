import type { Account } from "./accounts.ts";
import type { ProviderLanguageModel } from "./load-provider.ts";

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
