import { type Log, StoreFailure } from "@holdfast/engine";
import type { OwnerId, SessionId } from "@holdfast/protocol";

import { sessionFor } from "../lane-session.ts";
import type { Names } from "../chat-addressing.ts";
import { oweNote } from "./enqueue.ts";

const words = "You are let in. Say what you want; /help tells the rest.";

/**
 * Tells a person in the chat where they asked that they may speak, once for their code. Where the store cannot take that now it
 * is left: that they are let in is written down, and they find out when they write again.
 */
export async function welcome(
  deps: { readonly log: Log; readonly owner: OwnerId; readonly names: Names },
  chat: string,
  code: string,
): Promise<SessionId | null> {
  const lane = deps.names.laneOf({ chat, thread: null, kind: "private" });
  const key = `welcome:${lane}:${code.toUpperCase()}`;
  try {
    const session = await sessionFor(deps, lane, key);
    const owed = await oweNote(deps, { session, lane, key, replyTo: null }, words);
    return owed === "owed" ? session : null;
  } catch (error) {
    if (error instanceof StoreFailure) return null;
    throw error;
  }
}
