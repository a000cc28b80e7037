import type { McpServer, McpServers, SecretValue } from "../../ops/config/mcp-servers.ts";
import type { Secrets } from "../../ops/secrets/secrets.ts";

export type ResolvedValues =
  | { readonly ok: true; readonly values: Readonly<Record<string, string>> }
  | { readonly ok: false; readonly words: string };

/** Where values are kept that the settings only name. */
export interface ValueSources {
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly secrets: Pick<Secrets, "read">;
}

/** What the operator has written, or the place that they have named. Nothing is looked for inside of a text. */
export function resolveValues(
  given: Readonly<Record<string, SecretValue>>,
  kept: ValueSources,
  origin?: string,
): ResolvedValues {
  const values: Record<string, string> = {};
  for (const [name, value] of Object.entries(given)) {
    const found = findValue(value, kept, origin);
    if ("words" in found) return { ok: false, words: `${name}: ${found.words}` };
    values[name] = found.text;
  }
  return { ok: true, values };
}

type FoundValue = { readonly text: string } | { readonly words: string };

function findValue(value: SecretValue, kept: ValueSources, origin: string | undefined): FoundValue {
  if (typeof value === "string") return { text: value };
  const { prefix = "" } = value;
  if ("env" in value) {
    const text = kept.environment[value.env] ?? "";
    if (text === "") return { words: `The variable ${value.env} is not set.` };
    return { text: `${prefix}${text}` };
  }
  const stored = kept.secrets.read(value.secret);
  if (stored === null) return { words: `There is no stored key ${value.secret}.` };
  // A key belongs to whom it was stored for, whatever the settings say.
  if (URL.parse(stored.baseUrl)?.origin !== origin)
    return { words: `The stored key ${value.secret} is for another address.` };
  return { text: `${prefix}${stored.key}` };
}

export interface ServerKeys {
  /** `null`: a program has no address, and gets no stored key. */
  readonly url: string | null;
  readonly secrets: readonly string[];
}

/** The stored keys that its settings name, each once. */
export function storedKeysOf(server: McpServer): ServerKeys {
  if (!("url" in server)) return { url: null, secrets: [] };
  const named = Object.values(server.headers ?? {}).flatMap((value) =>
    typeof value !== "string" && "secret" in value ? value.secret : [],
  );
  return { url: server.url, secrets: [...new Set(named)] };
}

const soundsSecret = /key|token|secret|pass|auth|credential/i;

/** What an operator has given to servers and nobody else is to see: all that is sent, and of a program what sounds like it. */
export function secretValues(
  servers: McpServers,
  environment: Readonly<Record<string, string | undefined>>,
): readonly string[] {
  return Object.values(servers).flatMap((server) => {
    const isSent = "url" in server;
    return Object.entries((isSent ? server.headers : server.env) ?? {}).flatMap(([name, value]) => {
      // Stored keys are known to whoever takes secrets out of texts.
      if (typeof value !== "string") return "env" in value ? (environment[value.env] ?? []) : [];
      return isSent || soundsSecret.test(name) ? value : [];
    });
  });
}
