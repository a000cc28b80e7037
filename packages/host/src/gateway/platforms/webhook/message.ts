import { type WebhookMessage, webhookMessage } from "@holdfast/protocol";
import { z } from "zod";

import { safeFileName } from "../../../util/safe-file-name.ts";
import type { Incoming, IncomingFile, OutgoingFile, Parcel, Place, Words } from "../../adapter.ts";
import { chatOf, partsOf } from "./names.ts";

/** What a hook was sent, when its signature has been seen to be right. */
export const pushedMessage = z.object({
  hook: z.string(),
  id: z.string(),
  message: webhookMessage,
});
export type PushedMessage = z.infer<typeof pushedMessage>;

const pictures: ReadonlySet<string> = new Set([
  "image/png",
  "image/jpeg",
  "image/webp",
  "image/gif",
]);

export function incomingOf({ hook, id, message }: PushedMessage): Incoming {
  const { conversation, sender = "", text = "", attachments = [], answer } = message;
  const came = {
    place: { chat: chatOf(hook, conversation), thread: null, kind: "group" },
    person: { id: hook, name: sender },
    message: id,
  } as const;
  if (answer !== undefined) return { ...came, kind: "press", press: id, data: answer };
  const files = attachments.map(fileOf);
  return { ...came, kind: "message", text, files, addressed: true, quoted: null };
}

type Attached = NonNullable<WebhookMessage["attachments"]>[number];

function fileOf(attached: Attached): IncomingFile {
  const { name, mediaType } = attached;
  const kind = pictures.has(mediaType) ? "image" : "file";
  if ("blobId" in attached)
    return { kind, name, mediaType, size: null, reference: attached.blobId };
  const size = Buffer.byteLength(attached.base64, "base64");
  return { kind, name, mediaType, size, reference: `${inlineMark}${attached.base64}` };
}

/** Before what came within the message itself. */
export const inlineMark = "base64:";

/** What goes out, in the words of whoever receives it. */
export function bodyOf(
  { chat }: Place,
  { id, replyTo }: Parcel,
  said: Words | OutgoingFile,
): Uint8Array<ArrayBuffer> {
  const about = { id, conversation: partsOf(chat).conversation, replyTo };
  return new TextEncoder().encode(JSON.stringify({ ...about, ...contentOf(said) }));
}

function contentOf(said: Words | OutgoingFile) {
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
