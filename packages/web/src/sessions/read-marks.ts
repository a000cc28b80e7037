import type { SessionId, SessionView } from "@holdfast/protocol";
import { z } from "zod";
import { keep, readKept } from "../ui/local-storage.ts";

export interface SeenStore {
  readonly mark: (id: SessionId, sortAt: number) => void;
  readonly isUnread: (session: SessionView) => boolean;
  readonly read: () => number;
  readonly subscribe: (listener: () => void) => () => void;
}

const schema = z.object({ since: z.number(), seen: z.array(z.tuple([z.string(), z.number()])) });
const key = "seen";
const most = 1_000;

/** Up to where somebody has looked, in this browser. What moved before the first visit counts as read. */
export function createSeenStore(now: number): SeenStore {
  const kept = readKept(key, schema);
  const since = kept?.since ?? now;
  const seen = new Map(kept?.seen);
  if (kept === null) keep(key, { since, seen: [] });
  const listeners = new Set<() => void>();
  let marks = 0;
  return {
    mark(id, sortAt) {
      if ((seen.get(id) ?? 0) >= sortAt) return;
      // Set anew, it is the newest: the oldest go first.
      seen.delete(id);
      seen.set(id, sortAt);
      keep(key, { since, seen: [...seen].slice(-most) });
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
