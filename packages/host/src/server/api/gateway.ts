import type { OutboxRow } from "@holdfast/engine";
import {
  type GatewayView,
  type OutboxView,
  type OwnerId,
  routes,
  type WebhookView,
} from "@holdfast/protocol";
import { type Route } from "../http/routing.ts";
import { answer, type Call, mountCall, problem } from "./endpoint.ts";
import type { ApiDeps } from "./deps.ts";
import type { PostResult } from "../../gateway/platforms/webhook/receive-post.ts";
import { sendJson } from "../http/send-json.ts";
import { sendProblem } from "../http/problem.ts";
import type { WebhookChange, WebhookChangeResult } from "../../gateway/webhook-registry.ts";
import type { SignedRequest } from "../../util/webhook-signature.ts";

/** What the API needs from a gateway. */
export interface GatewayAdmin {
  readonly platform: string;
  /** The prefix of this bot's lanes. */
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
  /** `null` if there is no such chunk, or its delivery is already known. */
  readonly settleChunk: (
    owner: OwnerId,
    chunk: Pick<OutboxRow, "delivery" | "chunk">,
    how: "resend" | "drop",
  ) => Promise<OutboxRow | null>;
}

/** The outcome of connecting a token entered on the page. */
export type ConnectResult =
  | { readonly status: "connected"; readonly bot: NonNullable<GatewayView["bot"]> }
  | { readonly status: "refused" | "unreachable"; readonly message: string }
  | { readonly status: "configured" | "elsewhere" };

/** Present whether or not a bot is connected. */
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

export function gatewayRoutes(deps: ApiDeps): Route[] {
  const { log, bot, webhooks } = deps;
  const { reads } = log.store;

  async function read({ owner }: Call<"readGateway">) {
    const outbox = await reads.outbox(owner, { states: shownStates, limit: shownChunks });
    const hooks = [...(webhooks?.list() ?? [])];
    const hookLanes = hooks.length === 0 ? [] : await lanesOf(owner, "webhook:");
    const shown = { outbox: outbox.map(viewChunk), webhooks: hooks };
    const gateway = bot?.gateway();
    if (gateway === undefined) {
      const status = hooks.length === 0 ? {} : await webhookOnlyStatus();
      return answer({ ...noGateway, ...status, ...shown, lanes: hookLanes });
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

  /** Without a bot, the gateway serves webhooks only. */
  async function webhookOnlyStatus() {
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
    const result = (await bot?.connect(token)) ?? { status: "elsewhere" };
    switch (result.status) {
      case "connected":
        return answer({ bot: result.bot });
      case "refused":
        return problem("bot_refused", { detail: result.message });
      case "unreachable":
        return problem("bot_unreachable", { detail: result.message });
      case "configured":
        return problem("bot_configured");
      case "elsewhere":
        return problem("bot_elsewhere");
    }
  }

  async function disconnect() {
    const result = (await bot?.disconnect()) ?? "none";
    if (result === "configured") return problem("bot_configured");
    return result === "none" ? problem("bot_not_found") : answer(undefined);
  }

  return [
    mountCall(deps, "connectBot", connect),
    mountCall(deps, "disconnectBot", disconnect),
    mountCall(deps, "readGateway", read),
    mountCall(deps, "decidePairing", decide),
    mountCall(deps, "changePerson", change),
    mountCall(deps, "settleChunk", settle),
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

/** Present whether or not any webhook exists. */
export interface WebhookAdmin {
  /** Whether this process receives their requests. */
  readonly isHere: boolean;
  readonly list: () => readonly WebhookView[];
  readonly status: () => Promise<Pick<GatewayView, "state" | "bot" | "trouble">>;
  readonly put: (name: string, change: WebhookChange) => Promise<WebhookChangeResult>;
  readonly rotate: (name: string, old: "keep" | "drop") => Promise<WebhookChangeResult>;
  readonly remove: (name: string) => Promise<"removed" | "configured" | "not_found">;
  readonly take: (name: string, request: SignedRequest) => Promise<PostResult>;
}

export function webhookRoutes(deps: ApiDeps): Route[] {
  const webhooks = deps.webhooks?.isHere === true ? deps.webhooks : undefined;

  async function put({ params, body }: Call<"putWebhook">) {
    return webhooks === undefined
      ? problem("bot_elsewhere")
      : webhookReply(await webhooks.put(params.name, body));
  }

  async function rotate({ params, body }: Call<"rotateWebhook">) {
    return webhooks === undefined
      ? problem("bot_elsewhere")
      : webhookReply(await webhooks.rotate(params.name, body.old ?? "keep"));
  }

  async function remove({ params }: Call<"removeWebhook">) {
    if (webhooks === undefined) return problem("bot_elsewhere");
    const removed = await webhooks.remove(params.name);
    return removed === "removed" ? answer(undefined) : problem(`webhook_${removed}`);
  }

  return [
    receiveRoute(deps),
    mountCall(deps, "putWebhook", put),
    mountCall(deps, "rotateWebhook", rotate),
    mountCall(deps, "removeWebhook", remove),
  ];
}

function webhookReply(result: WebhookChangeResult) {
  if (result.status !== "kept") return problem(`webhook_${result.status}`);
  return answer({ webhook: result.webhook, secret: result.secret });
}

/** Anonymous: the signature is verified over the raw bytes before any of them is parsed. */
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
      const request = { id, timestamp, signature, body };
      const result = await webhooks?.take(c.req.param("name") ?? "", request);
      if (result === undefined) return sendProblem(c, "webhook_unsigned");
      if (result.status === "refused") return sendProblem(c, result.code, result.details);
      const { sessionId, runId } = result;
      return sendJson(c, JSON.stringify({ sessionId, runId }), 202);
    },
  };
}
