import { type WebhookCommand, laneKey } from "@holdfast/protocol";
import type { ChatAddressing } from "../../lanes.ts";
import type { ChatAccess } from "../../inbound/chat-access.ts";

/** A program that may post messages here, and where its answers go. */
export interface Webhook {
  readonly name: string;
  /** Newest first. Posts are signed with all of them, and any of them verifies. */
  readonly secrets: readonly string[];
  /** `null`: it gets no answers. */
  readonly url: string | null;
  /** Whether the address may be on a private network. */
  readonly network: "public" | "private";
  /** Commands it may use. Empty by default: a program may pass on anybody's words, and those may start with a slash. */
  readonly commands: readonly WebhookCommand[];
  /** Which sessions its commands reach: those that its lane created, or all of the owner's. */
  readonly sessions: "own" | "all";
  readonly connectedBy: "configuration" | "page";
}

/** The webhooks that exist at this moment. */
export interface WebhookLookup {
  find(name: string): Webhook | null;
  list(): readonly Webhook[];
}

const lanePattern = /^webhook:([a-z0-9-]+:[A-Za-z0-9._-]+)$/;

/** The chat of a webhook's message: the webhook's name and the conversation it named. */
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

/** P11: an id identifies one message of a webhook, whatever conversation it names. */
export function webhookInboundKey(hook: string, id: string): string {
  return `webhook:${hook}:${id}`;
}

export const webhookAddressing: ChatAddressing = {
  laneOf: ({ chat }) => laneKey.parse(`webhook:${chat}`),
  addressOf(lane) {
    const [, chat] = lanePattern.exec(lane) ?? [];
    return chat === undefined ? null : { chat, thread: null, kind: "group" };
  },
  inboundKeyOf: ({ address, messageId }) =>
    webhookInboundKey(parseWebhookChat(address.chat).hook, messageId),
  clientIdOf: ({ address, messageId }) =>
    webhookInboundKey(parseWebhookChat(address.chat).hook, messageId),
  // Whoever knows the secret speaks for everybody behind the webhook.
  senderOf: () => null,
};

/** A valid signature is all the access control there is: nobody has to be paired. */
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
