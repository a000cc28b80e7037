import OpenAI from "openai";

/** OpenAI's own client, for a host at this address. */
export function connectOpenAi(
  address: string,
  apiKey: string,
  more: { readonly maxRetries?: number } = {},
): OpenAI {
  return new OpenAI({ apiKey, baseURL: new URL("v1", address).href, ...more });
}
