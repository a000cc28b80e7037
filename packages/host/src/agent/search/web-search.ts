import { createHash } from "node:crypto";
import {
  dropOldest,
  type ProviderView,
  type WebSearchProvider,
  type WebSearchProviderView,
} from "@holdfast/protocol";
import type { Config } from "../../ops/config/settings.ts";
import type { Secrets } from "../../ops/secrets/secrets.ts";
import { type AskDeps, askProvider, providerNames, providers } from "./ask-provider.ts";
import type { SearchAccount, SearchOutcome, SearchQuery } from "./search-provider.ts";

export interface WebSearchDeps {
  readonly config: Pick<Config, "searchProvider" | "searxngUrl">;
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly secrets: Pick<Secrets, "read">;
  /** Where providers are, other than at their own addresses. */
  readonly addresses?: Partial<Readonly<Record<WebSearchProvider, string>>>;
  readonly ask?: AskDeps;
}

/** SearXNG has an address that people choose, and no key. */
export type KeyedProvider = Exclude<WebSearchProvider, "searxng">;

type KeyCheck = NonNullable<ProviderView["check"]>;

/** Searching the web with the provider that is set up now: keys and settings change while the host runs. */
export interface WebSearch {
  /** Where searches go; `null` if no provider is set up. */
  account(): SearchAccount | null;
  search(query: SearchQuery, signal?: AbortSignal): Promise<SearchOutcome>;
  /** The only address that a key for the provider is sent to. */
  keyAddress(provider: KeyedProvider): string;
  /** Searches once, to see whether the provider takes the key. */
  check(account: SearchAccount): Promise<KeyCheck>;
  accountOf(provider: WebSearchProvider): SearchAccount | null;
  list(): readonly WebSearchProviderView[];
  /** Every key from the environment, for redaction. */
  keys(): readonly string[];
}

const checkQuery: SearchQuery = { query: "web search", count: 1 };
const maxKnown = 32;

export function searchKeyName(provider: WebSearchProvider): string {
  return `search/${provider}`;
}

export function createWebSearch(deps: WebSearchDeps): WebSearch {
  const { config, environment, secrets, addresses = {}, ask = { now: Date.now } } = deps;
  // By hash: the results hold no key.
  const checks = new Map<string, KeyCheck>();

  function addressOf(name: WebSearchProvider): string | null {
    const own = addresses[name] ?? providers[name].address;
    return own ?? config.searxngUrl.value ?? null;
  }

  function accountOf(provider: WebSearchProvider): SearchAccount | null {
    const address = addressOf(provider);
    const { variables } = providers[provider];
    if (address === null) return null;
    if (variables.length === 0) return { provider, address, key: null, keyFrom: { from: "none" } };
    const variable = variables.find((name) => (environment[name] ?? "") !== "");
    if (variable !== undefined) {
      const keyFrom = { from: "environment", name: variable } as const;
      return { provider, address, key: environment[variable] ?? "", keyFrom };
    }
    const stored = secrets.read(searchKeyName(provider));
    // A key is never sent to an address that it was not stored for.
    if (stored === null || stored.baseUrl !== address) return null;
    return { provider, address, key: stored.key, keyFrom: { from: "stored" } };
  }

  function account(): SearchAccount | null {
    const chosen = config.searchProvider.value;
    if (chosen === "off") return null;
    if (chosen !== "auto") return accountOf(chosen);
    for (const name of providerNames) {
      const found = accountOf(name);
      if (found !== null) return found;
    }
    return null;
  }

  async function check(of: SearchAccount): Promise<KeyCheck> {
    const outcome = await askProvider(ask, of, checkQuery);
    const result = checkOf(outcome);
    checks.set(hashOf(of), result);
    dropOldest(checks, maxKnown);
    return result;
  }

  return {
    account,
    accountOf,
    keyAddress: (provider) => addresses[provider] ?? providers[provider].address,
    check,
    async search(query, signal) {
      const current = account();
      if (current === null)
        return {
          ok: false,
          failure: {
            code: "search_not_set_up",
            message:
              "No search provider is set up. A person can set one up in Settings, Tools and approvals.",
          },
        };
      const outcome = await askProvider(ask, current, query, signal);
      if (outcome.ok || outcome.failure.code === "search_key_rejected")
        checks.set(hashOf(current), checkOf(outcome));
      return outcome;
    },
    list: () => {
      const used = account()?.provider;
      return providerNames.map((provider) => {
        const found = accountOf(provider);
        return {
          provider,
          title: providers[provider].title,
          usable: found !== null,
          used: provider === used,
          key: { ...(found?.keyFrom ?? { from: "none" as const }) },
          ...(found !== null && { check: checks.get(hashOf(found)) ?? { state: "unverified" } }),
        };
      });
    },
    keys: () =>
      providerNames.flatMap((name) =>
        providers[name].variables.flatMap((variable) => environment[variable] || []),
      ),
  };
}

function hashOf({ provider, address, key }: SearchAccount): string {
  return createHash("sha256")
    .update(JSON.stringify([provider, address, key]))
    .digest("hex");
}

function checkOf(outcome: SearchOutcome): KeyCheck {
  if (outcome.ok) return { state: "verified" };
  const { code, message: detail } = outcome.failure;
  switch (code) {
    case "search_key_rejected":
      return { state: "rejected", detail };
    // The key was taken: what is missing is something else.
    case "search_no_credit":
    case "search_rate_limited":
      return { state: "verified", detail };
    default:
      return { state: "unreachable", detail };
  }
}
