import { randomBytes } from "node:crypto";

import { type WebhookView, webhookName, webhookSecret } from "@holdfast/protocol";

import type { Config } from "../ops/config/settings.ts";
import { done, failed, type Outcome } from "../util/outcome.ts";
import type { Webhook, WebhookLookup } from "./platforms/webhook/webhook.ts";
import type { Secrets } from "../ops/secrets/secrets.ts";

type WebhookConfig = Pick<Config, "webhooks">;
type Environment = Readonly<Record<string, string | undefined>>;

export interface WebhookChange {
  readonly url?: string | null | undefined;
  readonly secret?: string | undefined;
}

/** What it came to; `secret` is the one that was made for it. */
export type WebhookChangeResult =
  | { readonly status: "kept"; readonly webhook: WebhookView; readonly secret: string | null }
  | { readonly status: "configured" | "not_found" };

/** Every webhook that there is: those of the configuration, and those that were connected while the host ran. */
export interface WebhookRegistry extends WebhookLookup {
  put(name: string, change: WebhookChange): Promise<WebhookChangeResult>;
  rotate(name: string, old: "keep" | "drop"): Promise<WebhookChangeResult>;
  remove(name: string): Promise<"removed" | "configured" | "not_found">;
}

/** What more a hook may only the configuration says. */
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
  const fixed = configured.value;

  function connected(name: string): Webhook | null {
    const stored = secrets.read(secretName(name));
    if (stored === null) return null;
    const old = secrets.read(oldSecretName(name));
    const url = stored.baseUrl === noAddress ? null : stored.baseUrl;
    const known = old === null ? [stored.key] : [stored.key, old.key];
    return { ...defaultRights, name, secrets: known, url, connectedBy: "page" };
  }

  const find = (name: string) => fixed.get(name) ?? connected(name);

  /** The secret goes with the address that it signs for, and with no other. */
  async function keep(name: string, [key, old]: readonly string[], url: string | null) {
    const baseUrl = url ?? noAddress;
    if (old === undefined) await secrets.remove(oldSecretName(name));
    else await secrets.put(oldSecretName(name), { key: old, baseUrl });
    await secrets.put(secretName(name), { key: key ?? generateWebhookSecret(), baseUrl });
  }

  function shown(name: string, secret: string | null): WebhookChangeResult {
    const hook = find(name);
    if (hook === null) throw new Error(`What was kept of ${name} is gone.`);
    return { status: "kept", webhook: viewWebhook(hook), secret };
  }

  return done({
    find,
    list() {
      const names = secrets.names(prefix).map((name) => name.slice(prefix.length));
      const kept = names.filter((name) => webhookName.safeParse(name).success && !fixed.has(name));
      return [...fixed.values(), ...kept.flatMap((name) => connected(name) ?? [])];
    },
    async put(name, { url, secret }) {
      if (fixed.has(name)) return { status: "configured" };
      const known = connected(name);
      const made = secret === undefined && known === null ? generateWebhookSecret() : null;
      const given = made ?? secret;
      const kept = given === undefined ? (known?.secrets ?? []) : [given];
      await keep(name, kept, url === undefined ? (known?.url ?? null) : url);
      return shown(name, made);
    },
    async rotate(name, old) {
      const known = find(name);
      if (known === null) return { status: "not_found" };
      if (known.connectedBy === "configuration") return { status: "configured" };
      const made = generateWebhookSecret();
      await keep(name, old === "keep" ? [made, ...known.secrets.slice(0, 1)] : [made], known.url);
      return shown(name, made);
    },
    async remove(name) {
      if (fixed.has(name)) return "configured";
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
  for (const [name, given] of Object.entries(webhooks.value)) {
    const { url = null, network = defaultRights.network } = given;
    const { commands = defaultRights.commands, sessions = defaultRights.sessions } = given;
    const rights = { network, commands, sessions };
    const secrets: string[] = [];
    for (const each of [given.secret, given.oldSecret]) {
      const secret = typeof each === "object" ? environment[each.env] : each;
      // What a variable holds nobody has looked at yet, and a key that decodes to nothing signs for anybody.
      if (typeof each === "object" && !webhookSecret.safeParse(secret).success)
        return failed("config.invalid", unsetSecretMessage(name, each.env));
      if (secret !== undefined) secrets.push(secret);
    }
    if (given.secret === undefined) return failed("config.invalid", missingSecretMessage(name));
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
  const to = url === null ? null : new URL(url).host;
  return { name, to, connectedBy, rotating: secrets.length > 1, commands: [...commands] };
}
