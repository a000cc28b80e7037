import type { McpServer, SecretValue } from "../../ops/config/mcp-servers.ts";
import type { Secrets } from "../../ops/secrets/secrets.ts";

export type ResolvedValues =
  | { readonly ok: true; readonly values: Readonly<Record<string, string>> }
  | { readonly ok: false; readonly message: string };

/** Where values that the settings only reference are stored. */
export interface ValueSources {
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly secrets: Pick<Secrets, "read">;
}

/** Resolves literal values and references. Nothing is substituted inside a text. */
export function resolveValues(
  declared: Readonly<Record<string, SecretValue>>,
  sources: ValueSources,
  origin?: string,
): ResolvedValues {
  const values: Record<string, string> = {};
  for (const [name, value] of Object.entries(declared)) {
    const found = findValue(value, sources, origin);
    if ("message" in found) return { ok: false, message: `${name}: ${found.message}` };
    values[name] = found.text;
  }
  return { ok: true, values };
}

type FoundValue = { readonly text: string } | { readonly message: string };

function findValue(
  value: SecretValue,
  sources: ValueSources,
  origin: string | undefined,
): FoundValue {
  if (typeof value === "string") return { text: value };
  const { prefix = "" } = value;
  if ("env" in value) {
    const text = sources.environment[value.env] ?? "";
    if (text === "") return { message: `The variable ${value.env} is not set.` };
    return { text: `${prefix}${text}` };
  }
  const stored = sources.secrets.read(value.secret);
  if (stored === null) return { message: `There is no stored key ${value.secret}.` };
  // A key belongs to the origin it was stored for, whatever the settings say.
  if (URL.parse(stored.baseUrl)?.origin !== origin)
    return { message: `The stored key ${value.secret} is for another address.` };
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
  const names = Object.values(server.headers ?? {}).flatMap((value) =>
    typeof value !== "string" && "secret" in value ? value.secret : [],
  );
  return { url: server.url, secrets: [...new Set(names)] };
}

const secretName = /key|token|secret|pass|auth|credential/i;

/** The values to redact: every header that is sent, and those of a program's variables whose names sound secret. */
export function secretValues(
  servers: readonly McpServer[],
  environment: Readonly<Record<string, string | undefined>>,
): readonly string[] {
  return servers.flatMap((server) => {
    const isSent = "url" in server;
    return Object.entries((isSent ? server.headers : server.env) ?? {}).flatMap(([name, value]) => {
      // The redactor already knows stored keys.
      if (typeof value !== "string") return "env" in value ? (environment[value.env] ?? []) : [];
      return isSent || secretName.test(name) ? value : [];
    });
  });
}
