import type { GatewayView, LaneKey } from "@holdfast/protocol";
import { strings } from "../../strings/strings.ts";

/** The names of people and chats. */
export type KnownNames = Pick<GatewayView, "people"> & Partial<Pick<GatewayView, "chats">>;

/** A display name: the name of the person or group if known, else the id on the platform. Names are untrusted input. */
export function laneName(lane: LaneKey, { people, chats = [] }: KnownNames): string {
  const [platform = "", bot = "", chat = "", thread = "0"] = lane.split(":");
  const t = strings.lanes;
  const shownPlatform = platformName(platform);
  if (platform !== "telegram") return t.named(shownPlatform, lane.slice(platform.length + 1));
  const id = chat.slice(1);
  const isPrivate = chat.startsWith("p");
  const known = isPrivate
    ? people.find(({ person }) => person === id)
    : chats.find((group) => group.chat === id);
  if (bot === "" || id === "") return t.named(shownPlatform, lane);
  const chatName =
    known === undefined
      ? (isPrivate ? t.privateChat : t.group)(shownPlatform, id)
      : t.withPerson(shownPlatform, known.name);
  return thread === "0" ? chatName : t.topic(chatName, thread);
}

export function platformName(platform: string): string {
  const names: Readonly<Record<string, string>> = strings.lanes.platforms;
  return names[platform] ?? platform;
}
