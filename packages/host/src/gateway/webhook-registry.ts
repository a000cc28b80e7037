import { randomBytes } from "node:crypto";

import { type WebhookView, webhookName, webhookSecret } from "@holdfast/protocol";

import type { Config } from "../ops/config/settings.ts";
import { done, failed, type Outcome } from "../util/outcome.ts";
import type { Hook, Hooks } from "./platforms/webhook/webhook.ts";
import type { Secrets } from "../ops/secrets/secrets.ts";

type HookConfig = Pick<Config, "webhooks">;
type Environment = Readonly<Record<string, string | undefined>>;

export interface HookChange {
  readonly url?: string | null | undefined;
  readonly secret?: string | undefined;
}

/** What it came to; `secret` is the one that was made for it. */
export type HookKept =
  | { readonly status: "kept"; readonly webhook: WebhookView; readonly secret: string | null }
  | { readonly status: "configured" | "not_found" };

/** Every webhook that there is: those of the configuration, and those that were connected while the host ran. */
export interface KeptHooks extends Hooks {
  put(name: string, change: HookChange): Promise<HookKept>;
  rotate(name: string, old: "keep" | "drop"): Promise<HookKept>;
  remove(name: string): Promise<"removed" | "configured" | "not_found">;
}

/** What more a hook may only the configuration says. */
const narrow = { network: "public", commands: [], sessions: "own" } as const;

const prefix = "webhook:";
const noAddress = "none:";
const [newest, before] = [
  (name: string) => `${prefix}${name}`,
  (name: string) => `${prefix}${name}:old`,
];

export function openHooks(
  config: HookConfig,
  environment: Environment,
  secrets: Secrets,
): Outcome<KeptHooks> {
  const configured = readConfigured(config, environment);
  if (!configured.ok) return configured;
  const fixed = configured.value;

  function connected(name: string): Hook | null {
    const stored = secrets.read(newest(name));
    if (stored === null) return null;
    const old = secrets.read(before(name));
    const url = stored.baseUrl === noAddress ? null : stored.baseUrl;
    const known = old === null ? [stored.key] : [stored.key, old.key];
    return { ...narrow, name, secrets: known, url, connectedBy: "page" };
  }

  const find = (name: string) => fixed.get(name) ?? connected(name);

  /** The secret goes with the address that it signs for, and with no other. */
  async function keep(name: string, [key, old]: readonly string[], url: string | null) {
    const baseUrl = url ?? noAddress;
    if (old === undefined) await secrets.remove(before(name));
    else await secrets.put(before(name), { key: old, baseUrl });
    await secrets.put(newest(name), { key: key ?? makeSecret(), baseUrl });
  }

  function shown(name: string, secret: string | null): HookKept {
    const hook = find(name);
    if (hook === null) throw new Error(`What was kept of ${name} is gone.`);
    return { status: "kept", webhook: viewHook(hook), secret };
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
      const made = secret === undefined && known === null ? makeSecret() : null;
      const given = made ?? secret;
      const kept = given === undefined ? (known?.secrets ?? []) : [given];
      await keep(name, kept, url === undefined ? (known?.url ?? null) : url);
      return shown(name, made);
    },
    async rotate(name, old) {
      const known = find(name);
      if (known === null) return { status: "not_found" };
      if (known.connectedBy === "configuration") return { status: "configured" };
      const made = makeSecret();
      await keep(name, old === "keep" ? [made, ...known.secrets.slice(0, 1)] : [made], known.url);
      return shown(name, made);
    },
    async remove(name) {
      if (fixed.has(name)) return "configured";
      await secrets.remove(before(name));
      return (await secrets.remove(newest(name))) ? "removed" : "not_found";
    },
  });
}

function readConfigured(
  { webhooks }: HookConfig,
  environment: Environment,
): Outcome<ReadonlyMap<string, Hook>> {
  const hooks = new Map<string, Hook>();
  for (const [name, given] of Object.entries(webhooks.value)) {
    const { url = null, network = narrow.network } = given;
    const { commands = narrow.commands, sessions = narrow.sessions } = given;
    const rights = { network, commands, sessions };
    const secrets: string[] = [];
    for (const each of [given.secret, given.oldSecret]) {
      const secret = typeof each === "object" ? environment[each.env] : each;
      // What a variable holds nobody has looked at yet, and a key that decodes to nothing signs for anybody.
      if (typeof each === "object" && !webhookSecret.safeParse(secret).success)
        return failed("config.invalid", unset(name, each.env));
      if (secret !== undefined) secrets.push(secret);
    }
    if (given.secret === undefined) return failed("config.invalid", unsigned(name));
    hooks.set(name, { ...rights, name, secrets, url, connectedBy: "configuration" });
  }
  return done(hooks);
}

const shortest = 24;
const unsigned = (name: string) =>
  `The webhook ${name} has no secret, and would take anything from anybody: give it one of ${shortest} or more characters under webhooks, or name a variable that holds it.`;
const unset = (name: string, variable: string) =>
  `The secret of the webhook ${name} is to stand in ${variable}, which holds none: ${shortest} to 256 visible ASCII characters, or whsec_ and the key in base64.`;

function makeSecret(): string {
  return `whsec_${randomBytes(32).toString("base64")}`;
}

export function viewHook({ name, url, connectedBy, secrets, commands }: Hook): WebhookView {
  const to = url === null ? null : new URL(url).host;
  return { name, to, connectedBy, rotating: secrets.length > 1, commands: [...commands] };
}
