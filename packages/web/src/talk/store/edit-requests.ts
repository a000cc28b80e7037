import type { Seq } from "@holdfast/protocol";

/** Asks the message with this number to open its editor, as its own button does. */
export interface EditRequests {
  readonly read: () => Seq | null;
  readonly subscribe: (listener: () => void) => () => void;
  readonly request: (seq: Seq | null) => void;
}

export function createEditRequests(): EditRequests {
  let requested: Seq | null = null;
  const listeners = new Set<() => void>();
  return {
    read: () => requested,
    subscribe(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    request(seq) {
      requested = seq;
      listeners.forEach((listener) => listener());
    },
  };
}
