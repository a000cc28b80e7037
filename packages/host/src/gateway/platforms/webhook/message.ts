import { type WebhookMessage, webhookMessage } from "@holdfast/protocol";
import { z } from "zod";

import { safeFileName } from "../../../util/safe-file-name.ts";
import type {
  Incoming,
  IncomingFile,
  OutgoingFile,
  SendMeta,
  ChatAddress,
  OutgoingText,
} from "../../adapter.ts";
import { webhookChat, parseWebhookChat } from "./webhook.ts";

/** A posted message whose signature was verified. */
export const pushedMessage = z.object({
  hook: z.string(),
  id: z.string(),
  message: webhookMessage,
});
export type PushedMessage = z.infer<typeof pushedMessage>;

const imageTypes: ReadonlySet<string> = new Set([
  "image/png",
  "image/jpeg",
  "image/webp",
  "image/gif",
]);

export function toIncoming({ hook, id, message }: PushedMessage): Incoming {
  const { conversation, sender = "", text = "", attachments = [], answer } = message;
  const base = {
    address: { chat: webhookChat(hook, conversation), thread: null, kind: "group" },
    person: { id: hook, name: sender },
    messageId: id,
  } as const;
  if (answer !== undefined) return { ...base, kind: "press", press: id, data: answer };
  const files = attachments.map(toIncomingFile);
  return { ...base, kind: "message", text, files, addressed: true, quoted: null };
}

type WebhookAttachment = NonNullable<WebhookMessage["attachments"]>[number];

function toIncomingFile(attachment: WebhookAttachment): IncomingFile {
  const { name, mediaType } = attachment;
  const kind = imageTypes.has(mediaType) ? "image" : "file";
  if ("blobId" in attachment)
    return { kind, name, mediaType, size: null, reference: attachment.blobId };
  const size = Buffer.byteLength(attachment.base64, "base64");
  return { kind, name, mediaType, size, reference: `${inlinePrefix}${attachment.base64}` };
}

/** Marks a file reference that holds the bytes themselves. */
export const inlinePrefix = "base64:";

/** The body that is posted to a receiver. */
export function encodeBody(
  { chat }: ChatAddress,
  { id, replyTo }: SendMeta,
  content: OutgoingText | OutgoingFile,
): Uint8Array<ArrayBuffer> {
  const envelope = { id, conversation: parseWebhookChat(chat).conversation, replyTo };
  return new TextEncoder().encode(JSON.stringify({ ...envelope, ...bodyContent(content) }));
}

function bodyContent(content: OutgoingText | OutgoingFile) {
  if ("bytes" in content) {
    const { name, mediaType, bytes } = content;
    const base64 = Buffer.from(bytes).toString("base64");
    return { type: "file", file: { name: safeFileName(name), mediaType, base64 } };
  }
  const { text, buttons = [] } = content;
  if (buttons.length === 0) return { type: "message", text };
  const answers = buttons.flat().map(({ label, data }) => ({ label, answer: data }));
  return { type: "question", text, answers };
}
