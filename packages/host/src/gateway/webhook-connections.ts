import { readableBlob, systemClock } from "@holdfast/engine";
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

/** The programs that talk to this host through signed webhooks. Loads the gateway code only once there is one. */
export interface WebhookConnections extends WebhookAdmin {
  /** For redaction. */
  readonly secrets: () => readonly string[];
  start(): void;
  stop(): Promise<void>;
}

const owner = ownerId.parse("owner");

export function openWebhookConnections(
  config: Config,
  environment: Readonly<Record<string, string | undefined>>,
  deps: ConnectionDeps,
): Outcome<WebhookConnections> {
  const registry = openWebhookRegistry(config, environment, deps.secrets);
  if (!registry.ok) return registry;
  const hooks = registry.value;
  const { store } = deps.log;
  const isHere = config.roles.value.includes("gateway");
  let gateway: Promise<Gateway | undefined> | undefined;
  let state: "waiting" | "started" | "stopped" = "waiting";

  async function open(): Promise<Gateway | undefined> {
    try {
      const opening = await openWebhookGateway(config, hooks, deps);
      if (state !== "started") return opening;
      opening.start();
      // Until it is open it has no update handler, and a post would be answered as if another process ran the
      // gateway.
      await opening.whenOpen;
      return opening;
    } catch (error) {
      // The next caller tries again.
      gateway = undefined;
      deps.report(error instanceof Error ? error : new Error(String(error)));
      return undefined;
    }
  }

  function ensureOpen(): void {
    if (isHere && state === "started") gateway ??= open();
  }

  return done({
    isHere,
    list: () => hooks.list().map(viewWebhook),
    put(name, change) {
      ensureOpen();
      return hooks.put(name, change);
    },
    rotate: (name, old) => hooks.rotate(name, old),
    remove: (name) => hooks.remove(name),
    status: async () => (await gateway)?.status() ?? { state: "off", bot: null, trouble: null },
    async take(name, posted) {
      const { receivePost } = await import("./platforms/webhook/receive-post.ts");
      const updateHandler = async () => {
        ensureOpen();
        const handle = (await gateway)?.handleUpdate;
        return handle && { handle };
      };
      return receivePost({ hooks, store, owner, now: Date.now, updateHandler }, name, posted);
    },
    secrets: () => hooks.list().flatMap((hook) => hook.secrets),
    start() {
      state = "started";
      if (hooks.list().length > 0) ensureOpen();
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
  async function readBlob(id: string): Promise<Uint8Array | null> {
    const parsed = blobId.safeParse(id);
    return parsed.success ? ((await readableBlob(reads, owner, parsed.data))?.bytes ?? null) : null;
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
    newSessionMode: config.sessionMode.value,
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

/** Allows any port, and private networks where the operator allowed them for this webhook or the whole host. */
function createEgressFor(allowed: readonly string[]) {
  return ({ url, network }: Webhook) => {
    const { hostname, port, protocol } = new URL(url ?? "http://nowhere.invalid");
    const origin = `${hostname}:${port || (protocol === "https:" ? 443 : 80)}`;
    const allow = network === "private" ? [...allowed, origin] : allowed;
    return createEgress({ allow, isPort: () => true });
  };
}
