import type { Seq, SessionId } from "@holdfast/protocol";

/** Where each conversation was left, so that Back leads to the same place. Lost with the page. */
const positions = new Map<SessionId, Seq>();

/** `null`: its end was in view, which is where a conversation opens anyway. */
export function keepScrollPosition(id: SessionId, seq: Seq | null): void {
  if (seq === null) positions.delete(id);
  else positions.set(id, seq);
}

export function scrollPositionOf(id: SessionId): Seq | null {
  return positions.get(id) ?? null;
}
