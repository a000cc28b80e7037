import { type LaneKey, laneKey } from "@holdfast/protocol";

import type { Incoming, ChatAddress } from "./adapter.ts";

type MessageIdentity = Pick<Incoming, "address" | "person" | "messageId">;

/** What the messages, people and places of a bot are called in the store. All of it is the same in every process and after every restart. */
export interface ChatAddressing {
  laneOf(place: ChatAddress): LaneKey;
  /** The place that a lane leads to, if it is one of this bot's. */
  addressOf(lane: LaneKey): ChatAddress | null;
  /** P11: what a message is known by, for good. */
  inboundKeyOf(message: MessageIdentity): string;
  /** Unique in its session, and tells who said it. */
  clientIdOf(message: MessageIdentity): string;
  /** Who said the message with this client id, where the platform brought it: others name theirs as they like. */
  senderOf(clientId: string | null): string | null;
}

/**
 * Of a platform where people meet in chats and threads. A message is known by its chat and its number there. Numbers of updates
 * would not do: after a quiet week Telegram begins them anew.
 */
export function chatAddressing(platform: string, bot: string): ChatAddressing {
  return {
    laneOf({ chat, thread, kind }) {
      const letter = kind === "private" ? "p" : "g";
      return laneKey.parse(`${platform}:${bot}:${letter}${chat}:${thread ?? "0"}`);
    },
    addressOf(lane) {
      const [named, owner, chat = "", thread = "", ...rest] = lane.split(":");
      const isOurs = named === platform && owner === bot && rest.length === 0;
      if (!isOurs || !/^[pg]./.test(chat)) return null;
      return {
        chat: chat.slice(1),
        thread: thread === "0" ? null : thread,
        kind: chat.startsWith("p") ? "private" : "group",
      };
    },
    inboundKeyOf: ({ address: place, messageId: message }) =>
      `${platform}:${bot}:${place.chat}:${message}`,
    clientIdOf: ({ address: place, person, messageId: message }) =>
      `${platform}:${place.chat}:${message}:${person.id}`,
    senderOf(clientId) {
      const [from, , , person] = clientId?.split(":") ?? [];
      return from === platform ? (person ?? null) : null;
    },
  };
}
