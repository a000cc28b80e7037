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

/** Who said the message with this client id, where a platform brought it. */
export function askerOf(clientId: string | null | undefined): string | null {
  const [, , , person] = clientId?.split(":") ?? [];
  return person ?? null;
}
