import { type Log, StoreFailure } from "@holdfast/engine";
import type { OwnerId, SessionId } from "@holdfast/protocol";

import { sessionForLane } from "../lane-session.ts";
import type { ChatAddressing } from "../chat-addressing.ts";
import { enqueueNote } from "./enqueue.ts";

const welcomeText = "You are let in. Say what you want; /help tells the rest.";

/**
 * Tells a person in the chat where they asked that they may speak, once for their code. Where the store cannot take that now it
 * is left: that they are let in is written down, and they find out when they write again.
 */
export async function enqueueWelcome(
  deps: { readonly log: Log; readonly owner: OwnerId; readonly names: ChatAddressing },
  chat: string,
  code: string,
): Promise<SessionId | null> {
  const lane = deps.names.laneOf({ chat, thread: null, kind: "private" });
  const key = `welcome:${lane}:${code.toUpperCase()}`;
  try {
    const session = await sessionForLane(deps, lane, key);
    const owed = await enqueueNote(deps, { session, lane, key, replyTo: null }, welcomeText);
    return owed === "owed" ? session : null;
  } catch (error) {
    if (error instanceof StoreFailure) return null;
    throw error;
  }
}
