import type { SpillState } from "@holdfast/engine";
import type { SessionId, StreamStatus } from "@holdfast/protocol";

/** Where the output of the runs of this process goes, for those who watch. Nothing of it is durable. */
export interface StorageStatus {
  readonly publish: (session: SessionId, storing: SpillState) => void;
  /** How it is now, if that is worth a word, and every change from here on. */
  readonly subscribe: (session: SessionId, listener: (status: StreamStatus) => void) => () => void;
}

const statusTexts: Record<SpillState, { readonly code: string; readonly text?: string }> = {
  local: {
    code: "storing_locally",
    text: "Storing locally: the database does not answer.",
  },
  stopped: {
    code: "storing_stopped",
    text: "Neither the database nor the disk here takes the answer. It was stopped.",
  },
  left: {
    code: "kept_locally",
    text: "The database does not answer. What was said is kept here and comes back with it.",
  },
  restored: { code: "stored_again" },
};

export function createStorageStatus(): StorageStatus {
  const current = new Map<SessionId, SpillState>();
  const listeners = new Map<SessionId, Set<(status: StreamStatus) => void>>();
  const statusOf = (session: SessionId, storing: SpillState): StreamStatus => ({
    ...statusTexts[storing],
    sessionId: session,
  });
  return {
    publish(session, storing) {
      const isNews =
        storing === "restored" ? current.delete(session) : current.set(session, storing);
      if (isNews === false) return;
      for (const listener of listeners.get(session) ?? []) listener(statusOf(session, storing));
    },
    subscribe(session, listener) {
      const watching = listeners.get(session) ?? new Set();
      listeners.set(session, watching.add(listener));
      const now = current.get(session);
      if (now !== undefined) listener(statusOf(session, now));
      return () => {
        watching.delete(listener);
        if (watching.size === 0) listeners.delete(session);
      };
    },
  };
}
