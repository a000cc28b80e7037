import type { SessionId } from "@holdfast/protocol";

/** Which rows of the list something is to be done to, all at once. */
export interface Selection {
  /** `null` while nobody selects. */
  readonly read: () => ReadonlySet<SessionId> | null;
  readonly subscribe: (listener: () => void) => () => void;
  readonly begin: (id: SessionId) => void;
  readonly toggle: (id: SessionId) => void;
  readonly end: () => void;
}

export function createSelection(): Selection {
  let chosen: ReadonlySet<SessionId> | null = null;
  const listeners = new Set<() => void>();
  function show(next: ReadonlySet<SessionId> | null): void {
    chosen = next;
    listeners.forEach((listener) => listener());
  }
  return {
    read: () => chosen,
    subscribe(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    begin: (id) => show(new Set([id])),
    toggle(id) {
      const next = new Set(chosen);
      if (!next.delete(id)) next.add(id);
      show(next);
    },
    end: () => show(null),
  };
}
