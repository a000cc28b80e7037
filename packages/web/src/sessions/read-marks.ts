import type { SessionId, SessionView } from "@holdfast/protocol";
import { z } from "zod";
import { writeStored, readStored } from "../ui/local-storage.ts";

export interface ReadMarks {
  readonly markRead: (id: SessionId, sortAt: number) => void;
  readonly isUnread: (session: SessionView) => boolean;
  readonly read: () => number;
  readonly subscribe: (listener: () => void) => () => void;
}

const storedMarks = z.object({
  since: z.number(),
  seen: z.array(z.tuple([z.string(), z.number()])),
});
const storageKey = "seen";
const maxMarks = 1_000;

/** Up to where somebody has looked, in this browser. What moved before the first visit counts as read. */
export function createReadMarks(now: number): ReadMarks {
  const kept = readStored(storageKey, storedMarks);
  const since = kept?.since ?? now;
  const seen = new Map(kept?.seen);
  if (kept === null) writeStored(storageKey, { since, seen: [] });
  const listeners = new Set<() => void>();
  let marks = 0;
  return {
    markRead(id, sortAt) {
      if ((seen.get(id) ?? 0) >= sortAt) return;
      // Set anew, it is the newest: the oldest go first.
      seen.delete(id);
      seen.set(id, sortAt);
      writeStored(storageKey, { since, seen: [...seen].slice(-maxMarks) });
      marks++;
      listeners.forEach((listener) => listener());
    },
    isUnread: ({ id, sortAt }) => sortAt > (seen.get(id) ?? since),
    read: () => marks,
    subscribe(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
}
