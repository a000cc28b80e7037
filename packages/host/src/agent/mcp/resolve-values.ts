import type { McpServer, McpServers, SecretValue } from "../../ops/config/mcp-servers.ts";
import type { Secrets } from "../../ops/secrets/secrets.ts";

export type ResolvedValues =
  | { readonly ok: true; readonly values: Readonly<Record<string, string>> }
  | { readonly ok: false; readonly words: string };

/** Where values that the settings only reference are stored. */
export interface ValueSources {
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly secrets: Pick<Secrets, "read">;
}

/** Resolves literal values and references. Nothing is substituted inside a text. */
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
  // A key belongs to the origin it was stored for, whatever the settings say.
  if (URL.parse(stored.baseUrl)?.origin !== origin)
    return { words: `The stored key ${value.secret} is for another address.` };
  return { text: `${prefix}${stored.key}` };
}

export interface ServerKeys {
  /** `null` for a program, which has no address and gets no stored key. */
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

/** The values to redact: every header that is sent, and those of a program's variables whose names sound secret. */
export function secretValues(
  servers: McpServers,
  environment: Readonly<Record<string, string | undefined>>,
): readonly string[] {
  return Object.values(servers).flatMap((server) => {
    const isSent = "url" in server;
    return Object.entries((isSent ? server.headers : server.env) ?? {}).flatMap(([name, value]) => {
      // The redactor already knows stored keys.
      if (typeof value !== "string") return "env" in value ? (environment[value.env] ?? []) : [];
      return isSent || soundsSecret.test(name) ? value : [];
    });
  });
}
