import { z } from "zod";

import { approvalId, deliveryId, laneKey, seq } from "../ids.ts";
import { defineEvent } from "./define.ts";

/**
 * The state of a chunk.
 * - `pending`: still to be sent; with a platform id, it is there and still to be edited into its final form.
 * - `sending`: written before it is sent. After a crash nobody knows whether it arrived.
 * - `unknown`: nobody knows, and it is not sent again unless a person asks for that.
 * - `failed`: the platform refuses it. `expired`: it was too old to be useful. `dropped`: a person gave it up.
 */
export const outboxState = z.enum([
  "pending",
  "sending",
  "sent",
  "unknown",
  "failed",
  "expired",
  "dropped",
]);
export type OutboxState = z.infer<typeof outboxState>;

/** `answer`: output of a run. `approval`: a question with buttons. `note`: a line from the host itself. */
export const deliveryKind = z.enum(["answer", "approval", "note"]);
export type DeliveryKind = z.infer<typeof deliveryKind>;

/**
 * A platform's own key for an inbound message: platform, bot, chat and message. Each is accepted once, across all
 * sessions.
 */
export const inboundKey = z
  .string()
  .regex(/^[a-z][a-z0-9]*:[\x21-\x7e]{1,240}$/, "expected a key like telegram:<bot>:<chat>:<id>");

const platformId = z.string().regex(/^[\x21-\x7e]{1,200}$/, "expected a platform's id");

/** P11: with this, accepting the message itself promises a delivery. */
export const inbound = z.looseObject({
  key: inboundKey,
  delivery: deliveryId,
  replyTo: platformId.optional(),
});

export const outboxEvents = [
  /** The complete state of a chunk from here on: it follows from the event alone. */
  defineEvent(
    "outbox.changed",
    1,
    "passing",
    z.looseObject({
      delivery: deliveryId,
      chunk: z.int().nonnegative(),
      kind: deliveryKind,
      lane: laneKey,
      approvalId: approvalId.optional(),
      inbound: inboundKey.optional(),
      replyTo: platformId.optional(),
      /** The text of a note. */
      text: z.string().min(1).max(16_000).optional(),
      /** Where the delivery starts in the log. */
      begun: seq,
      state: outboxState,
      /** Which part of the delivery's text it carries, in UTF-16 units. */
      from: z.int().nonnegative(),
      to: z.int().nonnegative(),
      platformId: platformId.optional(),
      attempts: z.int().nonnegative(),
      /** By the store's clock. */
      retryAt: z.int().nonnegative().optional(),
      code: z.string().min(1).max(100).optional(),
      message: z.string().max(1_000).optional(),
    }),
  ),
] as const;
