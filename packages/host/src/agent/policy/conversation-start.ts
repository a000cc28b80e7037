import type { Reads } from "@holdfast/engine";
import type { OwnerId, SessionId } from "@holdfast/protocol";

import { parentOf } from "../../automation/delegate/child-session.ts";

/**
 * When the conversation began that a session belongs to: that of the sessions above a child, and of the session that a
 * branch left. What was written since then may be the work of the agent that asks.
 */
export function conversationStart(
  reads: Pick<Reads, "session" | "events">,
): (owner: OwnerId, session: SessionId) => Promise<number | null> {
  return async (owner, session) => {
    const parent = await parentOf(reads, owner, session);
    const top = parent?.above?.at(-1) ?? parent?.sessionId ?? session;
    const row = await reads.session(owner, top);
    if (row === null) return null;
    const left = row.origin === null ? null : await reads.session(owner, row.origin.sessionId);
    return Math.min(row.createdAt, left?.createdAt ?? Infinity);
  };
}
