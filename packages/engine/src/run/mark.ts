import type { NewEvent } from "@holdfast/protocol";

import type { MemoryOwner } from "../ports/memory.ts";
import type { RunHandle } from "./run-handle.ts";

/** Who has to remember a turn; `null`: nobody, it is a throw-away one or there is no memory. */
export type MemoryOwnerOf = (run: RunHandle) => MemoryOwner | null;

/**
 * Says that the turn is to be remembered. It goes behind the run's completion, into the same commit: a completion that
 * is refused because of a cancel takes its mark along. P10: nothing is committed here.
 */
export function memoryMark(
  remembers: MemoryOwnerOf | undefined,
  run: RunHandle,
): readonly NewEvent[] {
  const owner = remembers?.(run) ?? null;
  if (owner === null) return [];
  const { provider, configuration } = owner;
  return [run.event("memory.marked", { owner: { provider, configuration } })];
}
