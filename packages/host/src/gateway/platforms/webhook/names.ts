import { laneKey } from "@holdfast/protocol";

import type { ChatAddressing } from "../../chat-addressing.ts";

const lanePattern = /^webhook:([a-z0-9-]+:[A-Za-z0-9._-]+)$/;

/** The chat of a webhook's message: its hook, and the conversation that it named there. */
export function webhookChat(hook: string, conversation: string): string {
  return `${hook}:${conversation}`;
}

export function parseWebhookChat(chat: string): {
  readonly hook: string;
  readonly conversation: string;
} {
  const [hook = "", conversation = ""] = chat.split(":");
  return { hook, conversation };
}

/** P11: in whichever conversation it is said, what has the id of another message of its hook is that message. */
export function webhookInboundKey(hook: string, id: string): string {
  return `webhook:${hook}:${id}`;
}

export const webhookAddressing: ChatAddressing = {
  laneOf: ({ chat }) => laneKey.parse(`webhook:${chat}`),
  addressOf(lane) {
    const [, chat] = lanePattern.exec(lane) ?? [];
    return chat === undefined ? null : { chat, thread: null, kind: "group" };
  },
  inboundKeyOf: ({ address: place, messageId: message }) =>
    webhookInboundKey(parseWebhookChat(place.chat).hook, message),
  clientIdOf: ({ address: place, messageId: message }) =>
    webhookInboundKey(parseWebhookChat(place.chat).hook, message),
  // Whoever knows the secret speaks for all who are behind it.
  senderOf: () => null,
};
