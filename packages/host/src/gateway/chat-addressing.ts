import { type LaneKey, laneKey } from "@holdfast/protocol";

import type { Incoming, ChatAddress } from "./adapter.ts";

type MessageIdentity = Pick<Incoming, "address" | "person" | "messageId">;

/** How a bot's chats, messages and people are named in the store. Names are stable across processes and restarts. */
export interface ChatAddressing {
  laneOf(address: ChatAddress): LaneKey;
  /** The chat a lane leads to, or `null` if it is another bot's. */
  addressOf(lane: LaneKey): ChatAddress | null;
  /** P11: identifies a message permanently. */
  inboundKeyOf(messageId: MessageIdentity): string;
  /** Unique in its session; encodes the sender. */
  clientIdOf(messageId: MessageIdentity): string;
  /** The sender encoded in a client id, or `null` for ids that other clients chose. */
  senderOf(clientId: string | null): string | null;
}

/**
 * Addressing for platforms with chats and threads. A message is identified by its chat and its number there, not
 * by the update's number: Telegram restarts those after a quiet week.
 */
export function chatAddressing(platform: string, bot: string): ChatAddressing {
  return {
    laneOf({ chat, thread, kind }) {
      const letter = kind === "private" ? "p" : "g";
      return laneKey.parse(`${platform}:${bot}:${letter}${chat}:${thread ?? "0"}`);
    },
    addressOf(lane) {
      const [lanePlatform, laneBot, chat = "", thread = "", ...rest] = lane.split(":");
      const isOurs = lanePlatform === platform && laneBot === bot && rest.length === 0;
      if (!isOurs || !/^[pg]./.test(chat)) return null;
      return {
        chat: chat.slice(1),
        thread: thread === "0" ? null : thread,
        kind: chat.startsWith("p") ? "private" : "group",
      };
    },
    inboundKeyOf: ({ address, messageId }) => `${platform}:${bot}:${address.chat}:${messageId}`,
    clientIdOf: ({ address, person, messageId }) =>
      `${platform}:${address.chat}:${messageId}:${person.id}`,
    senderOf(clientId) {
      const [source, , , person] = clientId?.split(":") ?? [];
      return source === platform ? (person ?? null) : null;
    },
  };
}
