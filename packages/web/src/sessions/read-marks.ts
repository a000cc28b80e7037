import { isNothingNew, type SessionId, type SessionView } from "@holdfast/protocol";
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

/** When each session was last read in this browser. Whatever happened before the first visit counts as read. */
export function createReadMarks(now: number): ReadMarks {
  const stored = readStored(storageKey, storedMarks);
  const since = stored?.since ?? now;
  const seen = new Map(stored?.seen);
  if (stored === null) writeStored(storageKey, { since, seen: [] });
  const listeners = new Set<() => void>();
  let revision = 0;
  return {
    markRead(id, sortAt) {
      if ((seen.get(id) ?? 0) >= sortAt) return;
      // Deleted first, so that the map stays ordered by age and the oldest marks are dropped.
      seen.delete(id);
      seen.set(id, sortAt);
      writeStored(storageKey, { since, seen: [...seen].slice(-maxMarks) });
      revision++;
      listeners.forEach((listener) => listener());
    },
    // A schedule that reports only changes found none.
    isUnread: ({ id, sortAt, preview }) =>
      sortAt > (seen.get(id) ?? since) && !isNothingNew(preview),
    read: () => revision,
    subscribe(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
}
