import type { OutboxRow } from "@holdfast/engine";
import {
  type GatewayView,
  type OutboxView,
  type OwnerId,
  routes,
  type WebhookView,
} from "@holdfast/protocol";
import { type Route } from "../http/routing.ts";
import { type Call, mountCall } from "./endpoint.ts";
import type { ApiDeps } from "./deps.ts";
import { answer, problem } from "./reply.ts";
import type { PostResult } from "../../gateway/platforms/webhook/receive-post.ts";
import { sendBody } from "../http/responses.ts";
import { sendProblem } from "../http/problem.ts";
import type { WebhookChange, WebhookChangeResult } from "../../gateway/webhook-registry.ts";
import type { SignedRequest } from "../../util/webhook-signature.ts";

/** What the API asks of a gateway, where there is one. */
export interface GatewayAdmin {
  readonly platform: string;
  /** Lanes of the bot begin so. */
  readonly lanePrefix: () => string;
  readonly status: () => Pick<GatewayView, "state" | "bot" | "trouble">;
  readonly people: () => Promise<Pick<GatewayView, "requests" | "people" | "chats">>;
  readonly decidePairing: (
    code: string,
    decision: "allow" | "deny",
  ) => Promise<PairedPerson | null>;
  readonly changePerson: (
    person: string,
    decision: "allow" | "deny",
  ) => Promise<PairedPerson | null>;
  /** `null` when there is no such chunk, or nothing about it is unknown. */
  readonly settleChunk: (
    owner: OwnerId,
    chunk: Pick<OutboxRow, "delivery" | "chunk">,
    how: "resend" | "drop",
  ) => Promise<OutboxRow | null>;
}

/** How it went with a token that somebody gave on the page. */
export type ConnectResult =
  | { readonly status: "connected"; readonly bot: NonNullable<GatewayView["bot"]> }
  | { readonly status: "refused" | "unreachable"; readonly message: string }
  | { readonly status: "configured" | "elsewhere" };

/** The place of a bot, whether there is one or not. */
export interface BotAdmin {
  readonly gateway: () => GatewayAdmin | undefined;
  readonly connectedBy: () => "configuration" | "page" | null;
  readonly connect: (token: string) => Promise<ConnectResult>;
  readonly disconnect: () => Promise<"disconnected" | "configured" | "none">;
}

type PairedPerson = GatewayView["people"][number];

const shownLanes = 100;
const shownChunks = 200;
const shownStates = ["pending", "sending", "unknown", "failed"] as const;

export function gatewayRoutes(parts: ApiDeps): Route[] {
  const { log, bot, webhooks } = parts;
  const { reads } = log.store;

  async function read({ owner }: Call<"readGateway">) {
    const outbox = await reads.outbox(owner, { states: shownStates, limit: shownChunks });
    const hooks = [...(webhooks?.list() ?? [])];
    const hookLanes = hooks.length === 0 ? [] : await lanesOf(owner, "webhook:");
    const shown = { outbox: outbox.map(viewChunk), webhooks: hooks };
    const gateway = bot?.gateway();
    if (gateway === undefined) {
      const alone = hooks.length === 0 ? {} : await hooksAlone();
      return answer({ ...noGateway, ...alone, ...shown, lanes: hookLanes });
    }
    return answer({
      ...gateway.status(),
      ...(await gateway.people()),
      ...shown,
      platform: gateway.platform,
      connectedBy: bot?.connectedBy() ?? null,
      lanes: [...(await lanesOf(owner, gateway.lanePrefix())), ...hookLanes],
    });
  }

  async function lanesOf(owner: OwnerId, prefix: string): Promise<GatewayView["lanes"]> {
    const lanes = await reads.lanes(owner, prefix, shownLanes);
    return lanes.map(({ lane, session, at }) => ({ lane, sessionId: session, at }));
  }

  /** Without a bot, the gateway is what the programs speak to. */
  async function hooksAlone() {
    const status = await webhooks?.status();
    return status === undefined || status.state === "off" ? {} : { ...status, platform: "webhook" };
  }

  async function decide({ params, body }: Call<"decidePairing">) {
    const person = (await bot?.gateway()?.decidePairing(params.code, body.decision)) ?? null;
    return person === null ? problem("pairing_not_found") : answer({ person });
  }

  async function change({ params, body }: Call<"changePerson">) {
    const person = (await bot?.gateway()?.changePerson(params.person, body.decision)) ?? null;
    return person === null ? problem("pairing_not_found") : answer({ person });
  }

  async function settle({ owner, params, body }: Call<"settleChunk">) {
    const row = (await bot?.gateway()?.settleChunk(owner, params, body.do)) ?? null;
    return row === null ? problem("chunk_not_found") : answer({ outbox: viewChunk(row) });
  }

  async function connect({ body: { token } }: Call<"connectBot">) {
    const connected = (await bot?.connect(token)) ?? { status: "elsewhere" };
    switch (connected.status) {
      case "connected":
        return answer({ bot: connected.bot });
      case "refused":
        return problem("bot_refused", { detail: connected.message });
      case "unreachable":
        return problem("bot_unreachable", { detail: connected.message });
      case "configured":
        return problem("bot_configured");
      case "elsewhere":
        return problem("bot_elsewhere");
    }
  }

  async function disconnect() {
    const ended = (await bot?.disconnect()) ?? "none";
    if (ended === "configured") return problem("bot_configured");
    return ended === "none" ? problem("bot_not_found") : answer(undefined);
  }

  return [
    mountCall(parts, "connectBot", connect),
    mountCall(parts, "disconnectBot", disconnect),
    mountCall(parts, "readGateway", read),
    mountCall(parts, "decidePairing", decide),
    mountCall(parts, "changePerson", change),
    mountCall(parts, "settleChunk", settle),
  ];
}

const noGateway: GatewayView = {
  state: "off",
  platform: null,
  connectedBy: null,
  bot: null,
  trouble: null,
  lanes: [],
  outbox: [],
  requests: [],
  people: [],
  webhooks: [],
};

function viewChunk(row: OutboxRow): OutboxView {
  const { session: sessionId, delivery, chunk, kind, lane, state } = row;
  const { attempts, retryAt, code, message, at } = row;
  return { sessionId, delivery, chunk, kind, lane, state, attempts, retryAt, code, message, at };
}

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
