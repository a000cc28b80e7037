import type { CommitResult, Log, MemoryCommitter, Runner } from "@holdfast/engine";
import { type Client } from "@holdfast/client";
import {
  type IdSource,
  type LaneKey,
  newEvent,
  type OwnerId,
  type SessionId,
} from "@holdfast/protocol";

import { deterministicIds } from "../../util/deterministic-ids.ts";
import type { PlatformAdapter } from "../adapter.ts";
import type { ChatTitles } from "./chat-titles.ts";
import type { ChatAddressing } from "../chat-addressing.ts";
import type { ChatAccess } from "./chat-access.ts";

export interface InboundDeps {
  readonly log: Log;
  readonly ids: IdSource;
  readonly client: Client;
  readonly runner: Pick<Runner, "notify">;
  readonly memory: Pick<MemoryCommitter, "boundary">;
  readonly adapter: PlatformAdapter;
  readonly addressing: ChatAddressing;
  readonly owner: OwnerId;
  readonly access: Pick<ChatAccess, "isAllowed" | "requestPairing" | "rightsOf">;
  /** Takes what people call a chat. */
  readonly titles: Pick<ChatTitles, "remember">;
  /** Something is owed to a chat in this session. */
  readonly notifyOutbox: (session: SessionId) => void;
}

/** A lane points at another session from here on. */
export async function bindLane(
  { log, owner, memory }: Pick<InboundDeps, "log" | "owner" | "memory">,
  lane: LaneKey,
  to: SessionId,
  key: string,
): Promise<CommitResult["status"]> {
  const before = await log.store.reads.lane(owner, lane);
  const event = newEvent(deterministicIds(`move ${key}`).make("event"), "lane.bound", { lane });
  const { status } = await log.commit({ owner, session: to, events: [event], touch: "quiet" });
  if (before !== null && before !== to) void memory.boundary(owner, before, "lane_switch");
  return status;
}
