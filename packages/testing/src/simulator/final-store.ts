import { decodeEvent, type KnownEvent, type SessionId } from "@holdfast/protocol";

import { type Derived, type Store } from "@holdfast/engine";
import { fsckFindings } from "../conformance/fsck-store.ts";

/** One session as it lies in the store when everything is over. */
export interface FinalSession extends Derived {
  readonly id: SessionId;
  /** Its log, with deltas that are settled and not yet deleted. */
  readonly log: readonly KnownEvent[];
}

export interface FinalStore {
  readonly sessions: readonly FinalSession[];
  readonly fsck: readonly string[];
}

/** Reads the store itself, past everything that stood before it. */
export async function readFinalStore(store: Store): Promise<FinalStore> {
  const sessions: FinalSession[] = [];
  for await (const { id } of store.audit.sessions()) {
    const log: KnownEvent[] = [];
    for await (const { event } of store.audit.events(id)) {
      const decoded = event && decodeEvent(event);
      if (decoded?.kind === "known") log.push(decoded.event);
    }
    const derived = await store.audit.derived(id);
    if (derived !== null) sessions.push({ id, log, ...derived });
  }
  return { sessions, fsck: await fsckFindings(store) };
}
