import type { GatewayView, LaneKey } from "@holdfast/protocol";
import { strings } from "../../strings/strings.ts";

/** Who and what is known by name. */
export type KnownNames = Pick<GatewayView, "people"> & Partial<Pick<GatewayView, "chats">>;

/** What a chat is called: by who is in it where that is known, by what the platform calls it otherwise. Names are as people gave them. */
export function laneName(lane: LaneKey, { people, chats = [] }: KnownNames): string {
  const [platform = "", of = "", chat = "", thread = "0"] = lane.split(":");
  const w = strings.lanes;
  const on = platformName(platform);
  if (platform !== "telegram") return w.named(on, lane.slice(platform.length + 1));
  const id = chat.slice(1);
  const isPrivate = chat.startsWith("p");
  const called = isPrivate
    ? people.find((each) => each.person === id)
    : chats.find((each) => each.chat === id);
  if (of === "" || id === "") return w.named(on, lane);
  const whole =
    called === undefined
      ? (isPrivate ? w.privateChat : w.group)(on, id)
      : w.withPerson(on, called.name);
  return thread === "0" ? whole : w.topic(whole, thread);
}

export function platformName(platform: string): string {
  const known: Readonly<Record<string, string>> = strings.lanes.platforms;
  return known[platform] ?? platform;
}
