import type { Seq, SessionId } from "@holdfast/protocol";

import { shortHash } from "../hash.ts";
import type { MarkRow } from "../ports/rows.ts";
import type { MemoryOwner } from "../ports/memory.ts";
import type { Unremembered } from "../ports/reads.ts";

/** The oldest turns of a session that have one owner and are not committed. */
export interface Segment {
  readonly owner: MemoryOwner;
  readonly key: string;
  readonly upTo: Seq;
  readonly marks: readonly MarkRow[];
  /** How often it was handed to its provider. */
  readonly tries: number;
  readonly retryAt: number | null;
}

/** A provider that was away for long gets what waits in several segments: none is larger than this. */
export const maxSegmentTurns = 50;

/**
 * What is committed next. P10: a segment that was tried keeps its range and its key until it is committed, whatever was
 * completed meanwhile; so a provider that had it already finds it again by its key.
 */
export function nextSegment(session: SessionId, { marks, trying }: Unremembered): Segment | null {
  const [first] = marks;
  if (first === undefined) return null;
  const { provider, configuration } = first;
  const owner = { provider, configuration };
  if (trying !== null) {
    const { key, upTo, tries, retryAt } = trying;
    return { owner, key, upTo, tries, retryAt, marks: marks.filter(({ seq }) => seq <= upTo) };
  }
  const other = marks.findIndex((mark) => !isOwnedBy(owner, mark));
  const stretch = other === -1 ? marks : marks.slice(0, other);
  const upTo = (stretch.at(-1) ?? first).seq;
  const key = `${session}:${first.seq}-${upTo}:${shortHash(ownerKey(owner))}`;
  return { owner, key, upTo, tries: 0, retryAt: null, marks: stretch };
}

export function ownerKey({ provider, configuration }: MemoryOwner): string {
  return `${provider} ${configuration}`;
}

function isOwnedBy(owner: MemoryOwner, mark: MarkRow): boolean {
  return ownerKey(owner) === ownerKey(mark);
}
