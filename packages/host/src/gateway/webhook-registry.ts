import { randomBytes } from "node:crypto";

import { type WebhookView, webhookName, webhookSecret } from "@holdfast/protocol";

import type { Config } from "../ops/config/settings.ts";
import { done, failed, type Outcome } from "../util/outcome.ts";
import type { Webhook, WebhookLookup } from "./platforms/webhook/webhook.ts";
import type { Secrets } from "../ops/secrets/secrets.ts";

type WebhookConfig = Pick<Config, "webhooks" | "webhookCommands">;
type Environment = Readonly<Record<string, string | undefined>>;

export interface WebhookChange {
  readonly url?: string | null | undefined;
  readonly secret?: string | undefined;
}

/** `secret` is set only if it was generated here. */
export type WebhookChangeResult =
  | { readonly status: "kept"; readonly webhook: WebhookView; readonly secret: string | null }
  | { readonly status: "configured" | "not_found" };

/** All webhooks: the configured ones, and those connected while the host runs. */
export interface WebhookRegistry extends WebhookLookup {
  put(name: string, change: WebhookChange): Promise<WebhookChangeResult>;
  rotate(name: string, old: "keep" | "drop"): Promise<WebhookChangeResult>;
  remove(name: string): Promise<"removed" | "configured" | "not_found">;
}

/** Only the configuration can grant more than this; commands can be granted on the page too. */
const defaultRights = { network: "public", commands: [], sessions: "own" } as const;

const prefix = "webhook:";
const noAddress = "none:";
const [secretName, oldSecretName] = [
  (name: string) => `${prefix}${name}`,
  (name: string) => `${prefix}${name}:old`,
];

export function openWebhookRegistry(
  config: WebhookConfig,
  environment: Environment,
  secrets: Secrets,
): Outcome<WebhookRegistry> {
  const configured = readConfigured(config, environment);
  if (!configured.ok) return configured;
  const configuredHooks = configured.value;

  function readConnected(name: string): Webhook | null {
    const stored = secrets.read(secretName(name));
    if (stored === null) return null;
    const old = secrets.read(oldSecretName(name));
    const url = stored.baseUrl === noAddress ? null : stored.baseUrl;
    const keys = old === null ? [stored.key] : [stored.key, old.key];
    const commands = config.webhookCommands.value[name] ?? defaultRights.commands;
    return { ...defaultRights, commands, name, secrets: keys, url, connectedBy: "page" };
  }

  const find = (name: string) => configuredHooks.get(name) ?? readConnected(name);

  /** Stores the secret with the address it signs for, so it is never used for another. */
  async function store(name: string, [key, old]: readonly string[], url: string | null) {
    const baseUrl = url ?? noAddress;
    if (old === undefined) await secrets.remove(oldSecretName(name));
    else await secrets.put(oldSecretName(name), { key: old, baseUrl });
    await secrets.put(secretName(name), { key: key ?? generateWebhookSecret(), baseUrl });
  }

  function changeResult(name: string, secret: string | null): WebhookChangeResult {
    const hook = find(name);
    if (hook === null)
      throw new Error(`The webhook ${name} disappeared while it was being stored.`);
    return { status: "kept", webhook: viewWebhook(hook), secret };
  }

  return done({
    find,
    list() {
      const names = secrets.names(prefix).map((name) => name.slice(prefix.length));
      const connectedNames = names.filter(
        (name) => webhookName.safeParse(name).success && !configuredHooks.has(name),
      );
      return [
        ...configuredHooks.values(),
        ...connectedNames.flatMap((name) => readConnected(name) ?? []),
      ];
    },
    async put(name, { url, secret }) {
      if (configuredHooks.has(name)) return { status: "configured" };
      const existing = readConnected(name);
      const generated = secret === undefined && existing === null ? generateWebhookSecret() : null;
      const secretToStore = generated ?? secret;
      const keys = secretToStore === undefined ? (existing?.secrets ?? []) : [secretToStore];
      await store(name, keys, url === undefined ? (existing?.url ?? null) : url);
      return changeResult(name, generated);
    },
    async rotate(name, old) {
      const existing = find(name);
      if (existing === null) return { status: "not_found" };
      if (existing.connectedBy === "configuration") return { status: "configured" };
      const generated = generateWebhookSecret();
      await store(
        name,
        old === "keep" ? [generated, ...existing.secrets.slice(0, 1)] : [generated],
        existing.url,
      );
      return changeResult(name, generated);
    },
    async remove(name) {
      if (configuredHooks.has(name)) return "configured";
      await secrets.remove(oldSecretName(name));
      return (await secrets.remove(secretName(name))) ? "removed" : "not_found";
    },
  });
}

function readConfigured(
  { webhooks }: WebhookConfig,
  environment: Environment,
): Outcome<ReadonlyMap<string, Webhook>> {
  const hooks = new Map<string, Webhook>();
  for (const [name, settings] of Object.entries(webhooks.value)) {
    const { url = null, network = defaultRights.network } = settings;
    const { commands = defaultRights.commands, sessions = defaultRights.sessions } = settings;
    const rights = { network, commands, sessions };
    const secrets: string[] = [];
    for (const source of [settings.secret, settings.oldSecret]) {
      const secret = typeof source === "object" ? environment[source.env] : source;
      // The config schema has not validated the variable's value, and a key that decodes to nothing would verify
      // anybody's signature.
      if (typeof source === "object" && !webhookSecret.safeParse(secret).success)
        return failed("config.invalid", unsetSecretMessage(name, source.env));
      if (secret !== undefined) secrets.push(secret);
    }
    if (settings.secret === undefined) return failed("config.invalid", missingSecretMessage(name));
    hooks.set(name, { ...rights, name, secrets, url, connectedBy: "configuration" });
  }
  return done(hooks);
}

const minSecretLength = 24;
const missingSecretMessage = (name: string) =>
  `The webhook ${name} has no secret, and would take anything from anybody: give it one of ${minSecretLength} or more characters under webhooks, or name a variable that holds it.`;
const unsetSecretMessage = (name: string, variable: string) =>
  `The secret of the webhook ${name} is to stand in ${variable}, which holds none: ${minSecretLength} to 256 visible ASCII characters, or whsec_ and the key in base64.`;

function generateWebhookSecret(): string {
  return `whsec_${randomBytes(32).toString("base64")}`;
}

export function viewWebhook({ name, url, connectedBy, secrets, commands }: Webhook): WebhookView {
  const host = url === null ? null : new URL(url).host;
  return { name, to: host, connectedBy, rotating: secrets.length > 1, commands: [...commands] };
}
