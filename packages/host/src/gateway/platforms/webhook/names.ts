import { laneKey } from "@holdfast/protocol";

import type { Names } from "../../chat-addressing.ts";

const laneForm = /^webhook:([a-z0-9-]+:[A-Za-z0-9._-]+)$/;

/** The chat of a webhook's message: its hook, and the conversation that it named there. */
export function chatOf(hook: string, conversation: string): string {
  return `${hook}:${conversation}`;
}

export function partsOf(chat: string): { readonly hook: string; readonly conversation: string } {
  const [hook = "", conversation = ""] = chat.split(":");
  return { hook, conversation };
}

/** P11: in whichever conversation it is said, what has the id of another message of its hook is that message. */
export function inboundKey(hook: string, id: string): string {
  return `webhook:${hook}:${id}`;
}

export const webhookNames: Names = {
  laneOf: ({ chat }) => laneKey.parse(`webhook:${chat}`),
  placeOf(lane) {
    const [, chat] = laneForm.exec(lane) ?? [];
    return chat === undefined ? null : { chat, thread: null, kind: "group" };
  },
  inboundKeyOf: ({ place, message }) => inboundKey(partsOf(place.chat).hook, message),
  clientIdOf: ({ place, message }) => inboundKey(partsOf(place.chat).hook, message),
  // Whoever knows the secret speaks for all who are behind it.
  askerOf: () => null,
};
