import type { StreamBatch } from "@holdfast/client";
import {
  listHint,
  resync,
  seq,
  sessionId,
  type StoredEvent,
  streamStatus,
} from "@holdfast/protocol";
import { z } from "zod";

// The messages below are a wire format: tabs of an older page may still be open. An incompatible change needs a new
// number here, which gives the tabs of each version their own leader.
const version = 2;

/** Names that the tabs of one version share. `baseUrl` ends with a slash. */
export function sharedNames(baseUrl: string) {
  return {
    channel: `holdfast:line:${version}:${baseUrl}`,
    leaderLock: `holdfast:line:${version}:${baseUrl}`,
    tabLockPrefix: `holdfast:tab:${baseUrl}:`,
  };
}

/** A stream that a tab asks for: sessions with the last event read of each, and list hints if `list` is set. */
const wantedStream = z.object({ cursors: z.map(sessionId, seq).readonly(), list: z.boolean() });
export type WantedStream = Readonly<z.infer<typeof wantedStream>>;

const streamIds = z.array(z.string()).readonly();

/** From a tab to the leader. */
const tabMessage = z.discriminatedUnion("kind", [
  z.object({
    kind: z.literal("want"),
    tab: z.string(),
    stream: z.string(),
    wanted: wantedStream,
  }),
  z.object({ kind: z.literal("leave"), stream: z.string() }),
  /** Asks whether the leader is alive. */
  z.object({ kind: z.literal("ask") }),
]);
export type TabMessage = Readonly<z.infer<typeof tabMessage>>;

/**
 * A tab checks only the fields that route an event; the reducer decodes the data anyway. The leader has decoded the
 * event, and only pages of this origin can post here, which could call the host just as well.
 */
const decodedEvent = z.custom<StoredEvent>(
  (value) =>
    isObject(value) &&
    seq.safeParse(value["seq"]).success &&
    typeof value["type"] === "string" &&
    isObject(value["data"]),
);

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null;
}

const streamItem = z.discriminatedUnion("kind", [
  z.object({ kind: z.literal("event"), event: decodedEvent, sessionId: sessionId.exactOptional() }),
  z.object({ kind: z.literal("resync"), resync }),
  z.object({ kind: z.literal("status"), status: streamStatus }),
  z.object({ kind: z.literal("list"), hint: listHint }),
  z.object({ kind: z.literal("heartbeat") }),
]);

/** Skips an item that this version does not know, as it would skip a frame. */
const streamBatch: z.ZodType<StreamBatch> = z.array(streamItem.catch({ kind: "heartbeat" }));

/** From the leader to all tabs. `by` names the leader: messages of an earlier one are ignored. */
const leaderMessage = z.discriminatedUnion("kind", [
  /** The leader is alive. */
  z.object({ by: z.string(), kind: z.literal("here") }),
  /** A new leader took over: each tab requests its streams again. */
  z.object({ by: z.string(), kind: z.literal("lead") }),
  /** From now on these streams get every event after their cursors. */
  z.object({ by: z.string(), kind: z.literal("opened"), streams: streamIds }),
  z.object({ by: z.string(), kind: z.literal("items"), items: streamBatch }),
  /** The connection ended, or could not be made. */
  z.object({ by: z.string(), kind: z.literal("lost"), streams: streamIds }),
  /** These cannot share a connection: the host would refuse it, or they are too far behind the others. */
  z.object({ by: z.string(), kind: z.literal("alone"), streams: streamIds }),
]);
export type LeaderMessage = Readonly<z.infer<typeof leaderMessage>>;

export type ChannelMessage = TabMessage | LeaderMessage;
export const channelMessage = z.discriminatedUnion("kind", [leaderMessage, tabMessage]);

export const isLeaderMessage = (message: ChannelMessage): message is LeaderMessage =>
  "by" in message;
