import type { Script } from "@holdfast/testing/fakes/scripted-model";
import { blobId } from "@holdfast/protocol";

import { createEgress } from "../../../src/util/egress/egress.ts";
import { type Gateway } from "../../../src/gateway/gateway.ts";
import {
  type Webhook,
  webhookAddressing,
  webhookAccess,
} from "../../../src/gateway/platforms/webhook/webhook.ts";
import { createWebhookAdapter } from "../../../src/gateway/platforms/webhook/adapter.ts";
import { receivePost } from "../../../src/gateway/platforms/webhook/receive-post.ts";
import { signedHeaders } from "../../../src/util/webhook-signature.ts";
import { type ApiRigOptions, type ApiRig, openApi } from "../api-rig.ts";
import { type GatewayRigOptions, openGatewayOn } from "./gateway-rig.ts";

export const webhookTestSecret = "a-secret-that-both-sides-know";

/** For a program on this machine. */
export function testWebhook(url: string | null, rest: Partial<Webhook> = {}): Webhook {
  const usual = { network: "private", commands: [], sessions: "own" } as const;
  const connectedBy = "configuration";
  return { name: "ci", secrets: [webhookTestSecret], url, ...usual, connectedBy, ...rest };
}

export function adapterFor(hooks: readonly Webhook[], rig?: ApiRig) {
  const list = {
    list: () => hooks,
    find: (name: string) => hooks.find((each) => each.name === name) ?? null,
  };
  return {
    list,
    adapter: createWebhookAdapter({
      hooks: list,
      egressFor: ({ url, network }) =>
        createEgress({
          isPort: () => true,
          ...(url !== null && network === "private" && { allow: [new URL(url).host] }),
        }),
      readBlob: async (id) =>
        (await rig?.store.reads.blob(rig.owner, blobId.parse(id)))?.bytes ?? null,
      now: Date.now,
    }),
  };
}

export interface WebhookRig extends ApiRig {
  readonly gateway: Gateway;
  /** Posts these bytes as is, signed unless other headers are given. */
  readonly post: (
    body: string | Uint8Array<ArrayBuffer>,
    headers?: Readonly<Record<string, string>>,
  ) => Promise<Response>;
  /** Sends this message under the given id. */
  readonly say: (id: string, message: Readonly<Record<string, unknown>>) => Promise<Response>;
}

/** A host that a program talks to by a signed webhook. */
export function openWebhookRig(
  script: Script,
  hook: Webhook,
  options: ApiRigOptions & { readonly now?: () => number; readonly bot?: GatewayRigOptions } = {},
): WebhookRig {
  const { now = Date.now } = options;
  const rig: ApiRig = openApi(script, {
    ...options,
    webhooks: {
      isHere: true,
      list: () => [],
      status: async () => gateway.status(),
      put: async () => ({ status: "configured" }),
      rotate: async () => ({ status: "configured" }),
      remove: async () => "configured",
      take: (name, posted) => {
        const { store, owner } = rig;
        const reception = async () => {
          await gateway.whenOpen;
          const { handleUpdate: handle } = gateway;
          return handle && { handle };
        };
        return receivePost(
          { hooks: list, store, owner, now, updateHandler: reception },
          name,
          posted,
        );
      },
    },
  });
  const { adapter, list } = adapterFor([hook], rig);
  const gateway = openGatewayOn(rig, async () => adapter, {
    platform: "webhook",
    addressing: webhookAddressing,
    access: webhookAccess(list),
    ...options.bot,
  });
  gateway.start();
  const post: WebhookRig["post"] = async (body, headers) => {
    const bytes = typeof body === "string" ? new TextEncoder().encode(body) : body;
    return rig.app.request(
      "/api/gateway/webhook/ci",
      { method: "POST", body: bytes, headers: headers ?? signed("msg-1", bytes) },
      {},
    );
  };
  const signed = (id: string, body: Uint8Array) =>
    signedHeaders(hook.secrets.slice(0, 1), id, Math.floor(now() / 1_000), body);
  return {
    ...rig,
    gateway,
    post,
    say(id, message) {
      const body = new TextEncoder().encode(JSON.stringify(message));
      return post(body, signed(id, body));
    },
    async close() {
      await gateway.stop();
      await rig.close();
    },
  };
}
