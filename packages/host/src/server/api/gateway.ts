import type { OutboxRow } from "@holdfast/engine";
import type { GatewayView, OutboxView, OwnerId } from "@holdfast/protocol";

import type { Route } from "../http/route.ts";
import { type Call, mountCall } from "./contract.ts";
import type { ApiDeps } from "./deps.ts";
import { answer, problem } from "./reply.ts";

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
