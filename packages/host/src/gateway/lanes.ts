import {
  type CommitResult,
  type Log,
  type MemoryCommitter,
  type Reads,
  StoreFailure,
} from "@holdfast/engine";
import {
  defaultMode,
  type LaneKey,
  laneKey,
  newEvent,
  type OwnerId,
  seq,
  type SessionId,
  type SessionMode,
  type SessionSettings,
} from "@holdfast/protocol";
import { openRightsResolver } from "../rights/resolve-rights.ts";
import { modeForNew } from "../rights/session-modes.ts";

import { deterministicIds } from "../util/deterministic-ids.ts";
import type { ChatAddress, Incoming } from "./adapter.ts";

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

const firstSeq = seq.parse(0);

interface LaneDeps {
  readonly log: Log;
  readonly owner: OwnerId;
  /** The mode that new sessions get, where their lane answers approvals. */
  readonly newSessionMode?: SessionMode | undefined;
}

/** What the first event of a lane's session says. */
export async function newSessionSettings(
  { log, owner, newSessionMode = defaultMode }: LaneDeps,
  lane: LaneKey,
): Promise<SessionSettings> {
  if (newSessionMode === defaultMode) return {};
  const { approvals } = await openRightsResolver(log.store.register).ofLane(owner, lane);
  return modeForNew(newSessionMode, { approvals });
}

/** Whether answers in this lane are delivered to a chat or webhook; other lanes have no recipient. */
export function isDeliveredLane(lane: LaneKey): boolean {
  return /^(?:telegram|webhook):/.test(lane);
}

/** The session a lane points at, unless it is in the trash. */
export async function sessionOfLane(
  { log, owner }: LaneDeps,
  lane: LaneKey,
): Promise<SessionId | null> {
  const { reads } = log.store;
  const session = await reads.lane(owner, lane);
  const row = session && (await reads.session(owner, session));
  return row === null || row.trashedAt !== null ? null : row.id;
}

/**
 * Derives the session's id from the message, so two hosts that see the same message create the same session. P11:
 * throws when the store fails, so that no message is confirmed without a session.
 */
export async function sessionForLane(
  deps: LaneDeps,
  lane: LaneKey,
  key: string,
): Promise<SessionId> {
  const existing = await sessionOfLane(deps, lane);
  if (existing !== null) return existing;
  const { log, owner } = deps;
  const ids = deterministicIds(`lane ${lane} ${key}`);
  const settings = await newSessionSettings(deps, lane);
  const { session, result } = await log.createSession({ owner, lane, ids, settings });
  if (result.status === "failed") throw new StoreFailure(result.code, result.message);
  return session;
}

/** Points a lane at another session. */
export async function bindLane(
  { log, owner, memory }: LaneDeps & { readonly memory: Pick<MemoryCommitter, "boundary"> },
  lane: LaneKey,
  to: SessionId,
  key: string,
): Promise<CommitResult["status"]> {
  const previous = await log.store.reads.lane(owner, lane);
  const event = newEvent(deterministicIds(`move ${key}`).make("event"), "lane.bound", { lane });
  const { status } = await log.commit({ owner, session: to, events: [event], touch: "quiet" });
  if (previous !== null && previous !== to) void memory.boundary(owner, previous, "lane_switch");
  return status;
}

/** `lane.bound` is among the first events of a session that the lane created or branched. */
const maxFirstEvents = 16;

/**
 * Whether a session belongs to a lane: the lane points at it, or created it. A session that the lane was only
 * switched to does not belong to it, nor does a branch that somebody else made.
 */
export async function ownsSession(
  { reads, owner }: { readonly reads: Pick<Reads, "lane" | "events">; readonly owner: OwnerId },
  lane: LaneKey,
  session: SessionId,
): Promise<boolean> {
  if ((await reads.lane(owner, lane)) === session) return true;
  const page = await reads.events(owner, session, { after: firstSeq, limit: maxFirstEvents });
  return (page?.events ?? []).some(
    ({ type, data }) => type === "lane.bound" && data["lane"] === lane,
  );
}
