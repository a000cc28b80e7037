import type { ApprovalId } from "@holdfast/protocol";

/** Which open approvals have been in view as a whole. Nobody can allow what they were not shown. */
export interface SeenApprovals {
  readonly read: () => ReadonlySet<ApprovalId>;
  readonly subscribe: (listener: () => void) => () => void;
  readonly mark: (id: ApprovalId) => void;
}

export function createSeenApprovals(): SeenApprovals {
  let seen: ReadonlySet<ApprovalId> = new Set();
  const listeners = new Set<() => void>();
  return {
    read: () => seen,
    subscribe(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    mark(id) {
      if (seen.has(id)) return;
      seen = new Set([...seen, id]);
      listeners.forEach((listener) => listener());
    },
  };
}
