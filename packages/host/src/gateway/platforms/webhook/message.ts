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

/** What a hook was sent, when its signature has been seen to be right. */
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
  const came = {
    address: { chat: webhookChat(hook, conversation), thread: null, kind: "group" },
    person: { id: hook, name: sender },
    messageId: id,
  } as const;
  if (answer !== undefined) return { ...came, kind: "press", press: id, data: answer };
  const files = attachments.map(toIncomingFile);
  return { ...came, kind: "message", text, files, addressed: true, quoted: null };
}

type WebhookAttachment = NonNullable<WebhookMessage["attachments"]>[number];

function toIncomingFile(attached: WebhookAttachment): IncomingFile {
  const { name, mediaType } = attached;
  const kind = imageTypes.has(mediaType) ? "image" : "file";
  if ("blobId" in attached)
    return { kind, name, mediaType, size: null, reference: attached.blobId };
  const size = Buffer.byteLength(attached.base64, "base64");
  return { kind, name, mediaType, size, reference: `${inlinePrefix}${attached.base64}` };
}

/** Before what came within the message itself. */
export const inlinePrefix = "base64:";

/** What goes out, in the words of whoever receives it. */
export function encodeBody(
  { chat }: ChatAddress,
  { id, replyTo }: SendMeta,
  said: OutgoingText | OutgoingFile,
): Uint8Array<ArrayBuffer> {
  const about = { id, conversation: parseWebhookChat(chat).conversation, replyTo };
  return new TextEncoder().encode(JSON.stringify({ ...about, ...bodyContent(said) }));
}

function bodyContent(said: OutgoingText | OutgoingFile) {
  if ("bytes" in said) {
    const { name, mediaType, bytes } = said;
    const base64 = Buffer.from(bytes).toString("base64");
    return { type: "file", file: { name: safeFileName(name), mediaType, base64 } };
  }
  const { text, buttons = [] } = said;
  if (buttons.length === 0) return { type: "message", text };
  const answers = buttons.flat().map(({ label, data }) => ({ label, answer: data }));
  return { type: "question", text, answers };
}
