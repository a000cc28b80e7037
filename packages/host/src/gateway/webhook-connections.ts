import { systemClock } from "@holdfast/engine";
import { blobId, ids, ownerId } from "@holdfast/protocol";
import { createLiveness, currentHolder } from "@holdfast/store/identity";

import type { WebhookAdmin } from "../server/api/gateway.ts";
import type { Config } from "../ops/config/settings.ts";
import { createEgress } from "../util/egress/egress.ts";
import { done, type Outcome } from "../util/outcome.ts";
import type { Gateway } from "./gateway.ts";
import type { Webhook } from "./platforms/webhook/webhook.ts";
import { type WebhookRegistry, openWebhookRegistry, viewWebhook } from "./webhook-registry.ts";
import type { ConnectionDeps } from "./bot-connection.ts";

/** The programs that speak here by signed webhooks. Nothing of the gateway is loaded before there is one. */
export interface WebhookConnections extends WebhookAdmin {
  /** For taking them out of texts. */
  readonly secrets: () => readonly string[];
  start(): void;
  stop(): Promise<void>;
}

const owner = ownerId.parse("owner");

export function openWebhookConnections(
  config: Config,
  environment: Readonly<Record<string, string | undefined>>,
  parts: ConnectionDeps,
): Outcome<WebhookConnections> {
  const opened = openWebhookRegistry(config, environment, parts.secrets);
  if (!opened.ok) return opened;
  const hooks = opened.value;
  const { store } = parts.log;
  const isHere = config.roles.value.includes("gateway");
  let gateway: Promise<Gateway | undefined> | undefined;
  let state: "waiting" | "started" | "stopped" = "waiting";

  async function openHere(): Promise<Gateway | undefined> {
    try {
      const made = await openWebhookGateway(config, hooks, parts);
      if (state !== "started") return made;
      made.start();
      // Before that it takes nothing, and would say that another process does.
      await made.whenOpen;
      return made;
    } catch (error) {
      // Whoever needs it next tries again.
      gateway = undefined;
      parts.report(error instanceof Error ? error : new Error(String(error)));
      return undefined;
    }
  }

  function ensure(): void {
    if (isHere && state === "started") gateway ??= openHere();
  }

  return done({
    isHere,
    list: () => hooks.list().map(viewWebhook),
    put(name, change) {
      ensure();
      return hooks.put(name, change);
    },
    rotate: (name, old) => hooks.rotate(name, old),
    remove: (name) => hooks.remove(name),
    status: async () => (await gateway)?.status() ?? { state: "off", bot: null, trouble: null },
    async take(name, posted) {
      const { receivePost } = await import("./platforms/webhook/receive-post.ts");
      const reception = async () => {
        ensure();
        const handle = (await gateway)?.handleUpdate;
        return handle && { handle };
      };
      return receivePost(
        { hooks, store, owner, now: Date.now, updateHandler: reception },
        name,
        posted,
      );
    },
    secrets: () => hooks.list().flatMap((hook) => hook.secrets),
    start() {
      state = "started";
      if (hooks.list().length > 0) ensure();
    },
    async stop() {
      state = "stopped";
      await (await gateway)?.stop();
    },
  });
}

async function openWebhookGateway(
  config: Config,
  hooks: WebhookRegistry,
  { log, runner, memory, client, report }: ConnectionDeps,
): Promise<Gateway> {
  const { openGateway, createWebhookAdapter, webhookAddressing, webhookAccess } =
    await import("./index.ts");
  const { reads } = log.store;
  async function readBlob(given: string): Promise<Uint8Array | null> {
    const id = blobId.safeParse(given);
    return id.success ? ((await reads.blob(owner, id.data))?.bytes ?? null) : null;
  }
  return openGateway({
    log,
    runner,
    memory,
    ids,
    clock: systemClock,
    holder: () => currentHolder("webhooks"),
    liveness: createLiveness(),
    leaseMs: config.leaseMs.value,
    owner,
    client,
    platform: "webhook",
    openAdapter: async () =>
      createWebhookAdapter({
        hooks,
        egressFor: createEgressFor(config.egressAllow.value),
        readBlob,
        now: Date.now,
      }),
    addressing: webhookAddressing,
    access: webhookAccess(hooks),
    allowedPeople: [],
    pushWebhook: undefined,
    onError: (error) => report(error instanceof Error ? error : new Error(String(error))),
  });
}

/** On any port, and beyond the public internet where the operator has said so, of this hook or of the host. */
function createEgressFor(allowed: readonly string[]) {
  return ({ url, network }: Webhook) => {
    const { hostname, port, protocol } = new URL(url ?? "http://nowhere.invalid");
    const own = `${hostname}:${port || (protocol === "https:" ? 443 : 80)}`;
    const allow = network === "private" ? [...allowed, own] : allowed;
    return createEgress({ allow, isPort: () => true });
  };
}
