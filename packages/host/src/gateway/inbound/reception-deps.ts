import type { CommitResult, Log, MemoryKeeper, Runner } from "@holdfast/engine";
import { type Client } from "@holdfast/client";
import {
  type IdSource,
  type LaneKey,
  newEvent,
  type OwnerId,
  type SessionId,
} from "@holdfast/protocol";

import { idsFrom } from "../../util/deterministic-ids.ts";
import type { Adapter } from "../adapter.ts";
import type { ChatTitles } from "./chat-titles.ts";
import type { Names } from "../chat-addressing.ts";
import type { Guests } from "./chat-access.ts";

export interface ReceptionDeps {
  readonly log: Log;
  readonly ids: IdSource;
  readonly client: Client;
  readonly runner: Pick<Runner, "poke">;
  readonly memory: Pick<MemoryKeeper, "boundary">;
  readonly adapter: Adapter;
  readonly names: Names;
  readonly owner: OwnerId;
  readonly people: Pick<Guests, "isAllowed" | "meet" | "rightsOf">;
  /** Takes what people call a chat. */
  readonly titles: Pick<ChatTitles, "learn">;
  /** Something is owed to a chat in this session. */
  readonly owes: (session: SessionId) => void;
}

/** A lane points at another session from here on. */
export async function moveLane(
  { log, owner, memory }: Pick<ReceptionDeps, "log" | "owner" | "memory">,
  lane: LaneKey,
  to: SessionId,
  key: string,
): Promise<CommitResult["status"]> {
  const before = await log.store.reads.lane(owner, lane);
  const event = newEvent(idsFrom(`move ${key}`).make("event"), "lane.bound", { lane });
  const { status } = await log.commit({ owner, session: to, events: [event], touch: "quiet" });
  if (before !== null && before !== to) void memory.boundary(owner, before, "lane_switch");
  return status;
}
