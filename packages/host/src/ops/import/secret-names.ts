import { providerInfo } from "../../agent/models/accounts.ts";
import type { StoredKey } from "../secrets/secrets.ts";

/**
 * Where a key of another program's environment is stored: for a provider that this host knows, at its own address. Any
 * other is kept under its name and sent nowhere; a bot's token doesn't connect the bot.
 */
export function importedKey(variable: string): { readonly name: string } & Omit<StoredKey, "key"> {
  for (const provider of ["anthropic", "openai", "google"] as const) {
    const { variables, defaultBaseUrl } = providerInfo[provider];
    const isIts = variables.some((name) => name === variable) || alsoIts[provider] === variable;
    if (isIts && defaultBaseUrl !== null) return { name: provider, baseUrl: defaultBaseUrl };
  }
  return { name: `imported/${variable}`, baseUrl: "unknown:" };
}

const alsoIts: Readonly<Record<string, string>> = { google: "GOOGLE_API_KEY" };
