import { z } from "zod";

import { deliveryKind, outboxState } from "../events/outbox.ts";
import { deliveryId, laneKey, sessionId } from "../ids.ts";
import { defineRoute } from "./define.ts";
import { idempotencyHeader } from "./sessions.ts";
import { webhookView } from "./webhooks.ts";

/** A chunk that is being sent or has failed. */
export const outboxView = z.looseObject({
  sessionId,
  delivery: deliveryId,
  chunk: z.int(),
  kind: deliveryKind,
  lane: laneKey,
  state: outboxState,
  attempts: z.int(),
  retryAt: z.int().nullable(),
  code: z.string().nullable(),
  message: z.string().nullable(),
  at: z.int(),
});
export type OutboxView = z.infer<typeof outboxView>;

const gatewayPerson = z.looseObject({
  person: z.string(),
  name: z.string(),
  state: z.enum(["allowed", "denied"]),
  /** When that was decided, by the store's clock. */
  at: z.int(),
});

export const gatewayView = z.looseObject({
  /** `off`: no bot is configured. */
  state: z.enum(["off", "starting", "receiving", "contended", "trouble"]),
  platform: z.string().nullable(),
  /** Where its token came from: only one entered on the page can be disconnected there. */
  connectedBy: z.enum(["configuration", "page"]).nullable(),
  bot: z.looseObject({ id: z.string(), name: z.string() }).nullable(),
  trouble: z.looseObject({ code: z.string(), message: z.string() }).nullable(),
  lanes: z.array(z.looseObject({ lane: laneKey, sessionId, at: z.int() })),
  outbox: z.array(outboxView),
  /** People who showed a code, for the owner to confirm. */
  requests: z.array(
    z.looseObject({ person: z.string(), name: z.string(), code: z.string(), askedAt: z.int() }),
  ),
  people: z.array(gatewayPerson),
  /** Names of group chats, if the platform gave them. */
  chats: z.array(z.looseObject({ chat: z.string(), name: z.string() })).optional(),
  /** Programs that may send messages here, with or without a bot. */
  webhooks: z.array(webhookView),
});
export type GatewayView = z.infer<typeof gatewayView>;

const decision = z.strictObject({ decision: z.enum(["allow", "deny"]) });
const withPerson = z.looseObject({ person: gatewayPerson });
const digits = z.codec(z.string().regex(/^\d{1,9}$/), z.int().nonnegative(), {
  decode: Number,
  encode: String,
});

export const gatewayRoutes = {
  readGateway: defineRoute({
    method: "GET",
    path: "/api/gateway",
    summary: "How the chat gateway stands: its bot, lanes, outbox and pairing requests",
    access: "principal",
    answer: { media: "json", status: 200, schema: gatewayView },
    problems: [],
    repeat: "safe",
  }),
  connectBot: defineRoute({
    method: "PUT",
    path: "/api/gateway/bot",
    summary: "Connect a Telegram bot by its token, at once; the token is never read back",
    access: "principal",
    body: z.strictObject({
      token: z
        .string()
        .regex(/^\d{1,20}:[A-Za-z0-9_-]{1,200}$/, "expected a token like 123456:ABC…"),
    }),
    example: { token: "123456:what-botfather-gave" },
    answer: {
      media: "json",
      status: 200,
      schema: z.looseObject({ bot: z.looseObject({ id: z.string(), name: z.string() }) }),
    },
    problems: ["bot_refused", "bot_unreachable", "bot_configured", "bot_elsewhere"],
    repeat: "safe",
  }),
  disconnectBot: defineRoute({
    method: "DELETE",
    path: "/api/gateway/bot",
    summary: "Let go of the bot that was connected on the page, and forget its token",
    access: "principal",
    answer: { media: "none", status: 204 },
    problems: ["bot_configured", "bot_not_found"],
    repeat: "safe",
  }),
  decidePairing: defineRoute({
    method: "POST",
    path: "/api/gateway/pairings/:code",
    summary: "Confirm or deny a person by the pairing code that they showed",
    access: "principal",
    params: z.strictObject({ code: z.string().regex(/^[A-Za-z0-9]{4,16}$/) }),
    headers: idempotencyHeader,
    body: decision,
    example: { decision: "allow" },
    answer: { media: "json", status: 200, schema: withPerson },
    problems: ["pairing_not_found"],
    repeat: "key",
  }),
  changePerson: defineRoute({
    method: "POST",
    path: "/api/gateway/people/:person",
    summary: "Let a person who was met before speak to the bot, or no longer",
    access: "principal",
    params: z.strictObject({ person: z.string().regex(/^[\x21-\x7e]{1,100}$/) }),
    headers: idempotencyHeader,
    body: decision,
    example: { decision: "allow" },
    answer: { media: "json", status: 200, schema: withPerson },
    problems: ["pairing_not_found"],
    repeat: "key",
  }),
  settleChunk: defineRoute({
    method: "POST",
    path: "/api/gateway/outbox/:delivery/:chunk",
    summary: "Send a chunk again of which nobody knows whether it arrived, or give it up",
    access: "principal",
    params: z.strictObject({ delivery: deliveryId, chunk: digits }),
    headers: idempotencyHeader,
    body: z.strictObject({ do: z.enum(["resend", "drop"]) }),
    example: { do: "drop" },
    answer: { media: "json", status: 200, schema: z.looseObject({ outbox: outboxView }) },
    problems: ["chunk_not_found"],
    repeat: "key",
  }),
} as const;
