import { z } from "zod";

import { commands } from "../commands.ts";
import { blobId, runId, sessionId } from "../ids.ts";
import { defineRoute } from "./define.ts";

/** A webhook's name in its URL, its lanes and the configuration. */
export const webhookName = z
  .string()
  .regex(/^[a-z0-9](?:[a-z0-9-]{0,22}[a-z0-9])?$/, "expected a name like build-server");

const conversation = z
  .string()
  .regex(/^[A-Za-z0-9](?:[A-Za-z0-9._-]{0,63})$/, "expected a name like deploys");
const attached = {
  name: z.string().min(1).max(200),
  mediaType: z.string().regex(/^[\w.+-]{1,60}\/[\w.+-]{1,60}$/, "expected a type like text/plain"),
};
const attachment = z.union([
  z.strictObject({ ...attached, base64: z.base64().max(2_000_000) }),
  z.strictObject({ ...attached, blobId }),
]);

/** A program's message, or its answer to a question: exactly one of both. */
export const webhookMessage = z
  .strictObject({
    /** Each is a lane of its own, and so a session. */
    conversation: conversation.default("main"),
    /** Who is speaking, if several do: the model is told. */
    sender: z
      .string()
      .trim()
      .regex(/^[^\p{C}]{1,60}$/u, "expected a name of 1 to 60 characters")
      .optional(),
    text: z.string().max(200_000).optional(),
    attachments: z.array(attachment).max(10).optional(),
    /** One of the answers a question was sent with. */
    answer: z.string().min(1).max(64).optional(),
  })
  .refine(
    ({ text = "", attachments = [], answer }) =>
      (answer === undefined) === (text.trim() !== "" || attachments.length > 0),
    "expected a text or attachments, or else an answer",
  );
export type WebhookMessage = z.infer<typeof webhookMessage>;

/**
 * What a webhook may be allowed to do besides sending messages: the commands of every surface, and those that only
 * chats have.
 */
export const webhookCommand = z.enum([...commands.map(({ name }) => name), "interrupt", "resend"]);
export type WebhookCommand = z.infer<typeof webhookCommand>;

const webhookView = z.looseObject({
  name: webhookName,
  /** The host part of the reply address only: the whole URL may itself grant access. */
  to: z.string().nullable(),
  /** Only what was connected here can be changed here. */
  connectedBy: z.enum(["configuration", "page"]),
  /** Whether the previous secret is still accepted. */
  rotating: z.boolean(),
  /** The commands its texts may use; anything else is a message. */
  commands: z.array(webhookCommand),
});
export type WebhookView = z.infer<typeof webhookView>;

const secret = z
  .string()
  .regex(/^[\x21-\x7e]{24,256}$/, "expected 24 to 256 visible ASCII characters without a space")
  .refine(
    (text) => !text.startsWith("whsec_") || /^whsec_[A-Za-z0-9+/]{32,}={0,2}$/.test(text),
    "expected the key in base64 behind whsec_",
  );
const url = z.string().max(2_048).refine(isWebhookUrl, "expected an address of http or https");

/** A URL that can be posted to: no user name, no fragment. */
export function isWebhookUrl(text: string): boolean {
  const parsed = URL.parse(text);
  return (
    parsed !== null &&
    /^https?:$/.test(parsed.protocol) &&
    `${parsed.username}${parsed.password}${parsed.hash}` === ""
  );
}

const params = z.strictObject({ name: webhookName });
const withSecret = z.looseObject({
  webhook: webhookView,
  /** The generated secret, shown only this once; `null` if none was generated. */
  secret: z.string().nullable(),
});

/** Of a message including its attachments. */
const maxMessageBytes = 2 * 1024 * 1024;

export const webhookRoutes = {
  sayByWebhook: defineRoute({
    method: "POST",
    path: "/api/gateway/webhook/:name",
    summary:
      "Say something as a program that knows the webhook's secret: signed as Standard Webhooks describe it, taken once for each webhook-id",
    access: "signed",
    params,
    body: webhookMessage,
    example: { conversation: "deploys", sender: "build-server", text: "The build has failed." },
    largestBody: maxMessageBytes,
    answer: {
      media: "json",
      status: 202,
      /** `runId`: of the turn it became; `null` if it was a command or an answer. */
      schema: z.looseObject({ sessionId, runId: runId.nullable() }),
    },
    problems: ["webhook_unsigned", "webhook_stale", "webhook_conflict", "answer_refused"],
    repeat: "safe",
  }),
  putWebhook: defineRoute({
    method: "PUT",
    path: "/api/gateway/webhooks/:name",
    summary:
      "Let a program speak to the agent under this name, or change where its answers go; a secret is made unless one is given",
    access: "principal",
    params,
    body: z.strictObject({ url: url.nullable().optional(), secret: secret.optional() }),
    answer: { media: "json", status: 200, schema: withSecret },
    problems: ["webhook_configured", "bot_elsewhere"],
    repeat: "safe",
  }),
  rotateWebhook: defineRoute({
    method: "PUT",
    path: "/api/gateway/webhooks/:name/secret",
    summary:
      "Make a new secret; the one before it counts beside it until the next time, unless dropped",
    access: "principal",
    params,
    body: z.strictObject({ old: z.enum(["keep", "drop"]).optional() }),
    answer: { media: "json", status: 200, schema: withSecret },
    problems: ["webhook_not_found", "webhook_configured", "bot_elsewhere"],
    repeat: "never",
  }),
  removeWebhook: defineRoute({
    method: "DELETE",
    path: "/api/gateway/webhooks/:name",
    summary: "Take a webhook away with its secrets; what it has said stays",
    access: "principal",
    params,
    answer: { media: "none", status: 204 },
    problems: ["webhook_not_found", "webhook_configured", "bot_elsewhere"],
    repeat: "safe",
  }),
} as const;

export { secret as webhookSecret, webhookView };
