import { type WebhookCommand, laneKey } from "@holdfast/protocol";
import type { ChatAddressing } from "../../chat-addressing.ts";
import type { ChatAccess } from "../../inbound/chat-access.ts";

/** A program that may speak here, and where its answers go. */
export interface Webhook {
  readonly name: string;
  /** The newest first: it is signed with all of them, and any of them is believed. */
  readonly secrets: readonly string[];
  /** `null`: it hears no answers. */
  readonly url: string | null;
  /** Whether the address may be one that is not on the public internet. */
  readonly network: "public" | "private";
  /** What its texts may be beside messages: what it passes on may be anybody's words, and begin with a slash. */
  readonly commands: readonly WebhookCommand[];
  /** What these reach: the sessions that the very lane has begun, or all of the owner's. */
  readonly sessions: "own" | "all";
  readonly connectedBy: "configuration" | "page";
}

/** Those that there are at this moment. */
export interface WebhookLookup {
  find(name: string): Webhook | null;
  list(): readonly Webhook[];
}

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

/** Whoever has signed may speak, and nobody else comes as far as here: there is nobody to pair. */
export function webhookAccess(hooks: WebhookLookup): ChatAccess {
  return {
    isAllowed: async () => true,
    requestPairing: async () => "allowed",
    rightsOf: ({ id }) => hooks.find(id) ?? { commands: [], sessions: "own" },
    requests: async () => [],
    pairedPeople: async () => [],
    requestChatOf: async () => null,
    decidePairing: async () => null,
    changePerson: async () => null,
  };
}
