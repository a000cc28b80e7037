import { createHash } from "node:crypto";
import { dropOldest } from "@holdfast/protocol";
import type { Account } from "../accounts.ts";
import { openProviderConnection } from "../provider-connection.ts";

/** What a provider said about a key, or whether a server that needs none answered. */
export interface KeyCheck {
  readonly state: "verified" | "rejected" | "unreachable" | "unverified";
  /** What the provider answered, if it did not accept the key. */
  readonly detail?: string;
}

export interface KeyChecks {
  /** Asks the provider for its list of models, which costs nothing. */
  check(account: Account): Promise<KeyCheck>;
  /** The last result, without asking. */
  known(account: Account): KeyCheck;
  /** A model call has shown it. */
  record(account: Account, state: "verified" | "rejected"): void;
}

const checkLimits = { answerMs: 8_000, silenceMs: 8_000, bytes: 16 * 1024 * 1024 };
const maxKnown = 64;

/** Google answers 400 for a bad key. */
const googleRejected = /API_KEY_INVALID|API key not valid|API key expired/i;

export function createKeyChecks(send: typeof fetch = fetch): KeyChecks {
  // By hash: the results hold no key.
  const results = new Map<string, KeyCheck>();
  function keep(account: Account, result: KeyCheck): KeyCheck {
    results.set(nameOf(account), result);
    dropOldest(results, maxKnown);
    return result;
  }
  return {
    check: async (account) => keep(account, await ask(account, send)),
    known: (account) => results.get(nameOf(account)) ?? { state: "unverified" },
    record: (account, state) => void keep(account, { state }),
  };
}

function nameOf({ provider, baseUrl, key }: Account): string {
  return createHash("sha256")
    .update(JSON.stringify([provider, baseUrl, key]))
    .digest("hex");
}

async function ask(account: Account, send: typeof fetch): Promise<KeyCheck> {
  const connection = openProviderConnection(checkLimits, send);
  try {
    const response = await connection.fetch(`${account.baseUrl}/models`, {
      headers: headersOf(account),
      signal: AbortSignal.timeout(checkLimits.answerMs),
    });
    if (response.ok) return { state: "verified" };
    const { status } = response;
    const text = (await response.text()).slice(0, 20_000);
    if (status === 401 || status === 403 || (status === 400 && googleRejected.test(text)))
      return { state: "rejected", detail: `It answered with status ${status}.` };
    // A server without a list of models says nothing about the key.
    if (status === 404 || status === 405) return { state: "unverified" };
    return { state: "unreachable", detail: `It answered with status ${status}.` };
  } catch {
    return { state: "unreachable", detail: "It cannot be reached." };
  } finally {
    connection.close();
  }
}

function headersOf({ provider, key }: Account): Record<string, string> {
  if (key === null) return {};
  switch (provider) {
    case "anthropic":
      return { "x-api-key": key, "anthropic-version": "2023-06-01" };
    case "google":
      return { "x-goog-api-key": key };
    case "openai":
    case "openai-compatible":
    case "ollama":
      return { authorization: `Bearer ${key}` };
  }
}
