import {
  isNothingNew,
  type ScheduleView,
  type SessionId,
  type SessionView,
} from "@holdfast/protocol";
import { z } from "zod";
import { writeStored, readStored } from "../ui/local-storage.ts";

export interface ReadMarks {
  readonly markRead: (id: SessionId, sortAt: number) => void;
  readonly isUnread: (session: SessionView) => boolean;
  /** Whether a schedule could say that what happened in the session since is nothing new. */
  readonly mayBeQuiet: (session: SessionView) => boolean;
  /** Takes in which sessions only got reports without news. */
  readonly learn: (schedules: readonly ScheduleView[]) => void;
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
  const quiet = new Map<SessionId, NonNullable<ScheduleView["quiet"]>>();
  const seenUntil = (id: SessionId): number => seen.get(id) ?? since;
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
    isUnread({ id, sortAt, preview }) {
      const known = quiet.get(id);
      // What happened since is a schedule's, which reports only changes and found none.
      if (known !== undefined && sortAt <= known.until) return known.newsAt > seenUntil(id);
      return sortAt > seenUntil(id) && !isNothingNew(preview);
    },
    mayBeQuiet: ({ id, sortAt, liveRun }) =>
      liveRun === null && sortAt > seenUntil(id) && sortAt > (quiet.get(id)?.until ?? 0),
    learn(schedules) {
      for (const { quiet: found } of schedules)
        if (found !== undefined) quiet.set(found.sessionId, found);
      revision++;
      listeners.forEach((listener) => listener());
    },
    read: () => revision,
    subscribe(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
}
