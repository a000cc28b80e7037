import { type LaneKey, laneKey } from "@holdfast/protocol";

import type { Place } from "./adapter.ts";

/** Deterministic: the same place has the same lane in every process and after every restart. */
export function laneOf(platform: string, bot: string, { chat, thread, kind }: Place): LaneKey {
  const letter = kind === "private" ? "p" : "g";
  return laneKey.parse(`${platform}:${bot}:${letter}${chat}:${thread ?? "0"}`);
}

/** The place that a lane leads to, if it is one of this bot's. */
export function placeOf(platform: string, bot: string, lane: LaneKey): Place | null {
  const [named, owner, chat = "", thread = "", ...rest] = lane.split(":");
  if (named !== platform || owner !== bot || rest.length > 0 || !/^[pg]./.test(chat)) return null;
  return {
    chat: chat.slice(1),
    thread: thread === "0" ? null : thread,
    kind: chat.startsWith("p") ? "private" : "group",
  };
}
