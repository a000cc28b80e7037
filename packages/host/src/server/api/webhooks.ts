import { type GatewayView, routes, type WebhookView } from "@holdfast/protocol";

import type { PostResult } from "../../gateway/platforms/webhook/receive-post.ts";
import { sendBody } from "../http/answer.ts";
import { sendProblem } from "../http/problem.ts";
import { type Route } from "../http/route.ts";
import type { WebhookChange, WebhookChangeResult } from "../../gateway/webhook-registry.ts";
import type { SignedRequest } from "../../util/verify.ts";
import { type Call, mountCall } from "./contract.ts";
import type { ApiDeps } from "./deps.ts";
import { answer, problem } from "./reply.ts";

/** The webhooks of a host, whether there are any or not. */
export interface WebhookAdmin {
  /** Whether this process takes what they say. */
  readonly isHere: boolean;
  readonly list: () => readonly WebhookView[];
  readonly status: () => Promise<Pick<GatewayView, "state" | "bot" | "trouble">>;
  readonly put: (name: string, change: WebhookChange) => Promise<WebhookChangeResult>;
  readonly rotate: (name: string, old: "keep" | "drop") => Promise<WebhookChangeResult>;
  readonly remove: (name: string) => Promise<"removed" | "configured" | "not_found">;
  readonly take: (name: string, posted: SignedRequest) => Promise<PostResult>;
}

export function webhookRoutes(parts: ApiDeps): Route[] {
  const desk = parts.webhooks?.isHere === true ? parts.webhooks : undefined;

  async function put({ params, body }: Call<"putWebhook">) {
    return desk === undefined
      ? problem("bot_elsewhere")
      : webhookReply(await desk.put(params.name, body));
  }

  async function rotate({ params, body }: Call<"rotateWebhook">) {
    return desk === undefined
      ? problem("bot_elsewhere")
      : webhookReply(await desk.rotate(params.name, body.old ?? "keep"));
  }

  async function remove({ params }: Call<"removeWebhook">) {
    if (desk === undefined) return problem("bot_elsewhere");
    const removed = await desk.remove(params.name);
    return removed === "removed" ? answer(undefined) : problem(`webhook_${removed}`);
  }

  return [
    receiveRoute(parts),
    mountCall(parts, "putWebhook", put),
    mountCall(parts, "rotateWebhook", rotate),
    mountCall(parts, "removeWebhook", remove),
  ];
}

function webhookReply(kept: WebhookChangeResult) {
  if (kept.status !== "kept") return problem(`webhook_${kept.status}`);
  return answer({ webhook: kept.webhook, secret: kept.secret });
}

const jsonHeaders = { "content-type": "application/json", "cache-control": "no-store" };

/** Nobody is signed in here: the bytes are verified as they came, before anything of them is read. */
function receiveRoute({ webhooks, stopping }: ApiDeps): Route {
  const { method, path, access, largestBody } = routes.sayByWebhook;
  return {
    method,
    path,
    policy: access,
    largestBody,
    async handle(c) {
      if (stopping.aborted) return sendProblem(c, "shutting_down");
      const body = new Uint8Array(await c.req.arrayBuffer());
      const [id, timestamp, signature] = ["id", "timestamp", "signature"].map((name) =>
        c.req.header(`webhook-${name}`),
      );
      const posted = { id, timestamp, signature, body };
      const taken = await webhooks?.take(c.req.param("name") ?? "", posted);
      if (taken === undefined) return sendProblem(c, "webhook_unsigned");
      if (taken.status === "refused") return sendProblem(c, taken.code, taken.details);
      const { sessionId, runId } = taken;
      return sendBody(c, JSON.stringify({ sessionId, runId }), 202, jsonHeaders);
    },
  };
}
