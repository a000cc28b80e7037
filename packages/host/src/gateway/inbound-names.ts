import type { Incoming } from "./adapter.ts";

type Message = Pick<Incoming, "place" | "person" | "message">;

/**
 * P11: what a platform calls a message is what we know it by, in this chat and for good. Numbers of updates would not do:
 * after a quiet week Telegram begins them anew.
 */
export function inboundKeyOf(platform: string, bot: string, { place, message }: Message): string {
  return `${platform}:${bot}:${place.chat}:${message}`;
}

/** Unique in its session, and tells who said it. */
export function clientIdOf(platform: string, { place, person, message }: Message): string {
  return `${platform}:${place.chat}:${message}:${person.id}`;
}

/** Who said the message with this client id, where the platform brought it: others name theirs as they like. */
export function askerOf(platform: string, clientId: string | null): string | null {
  const [from, , , person] = clientId?.split(":") ?? [];
  return from === platform ? (person ?? null) : null;
}
