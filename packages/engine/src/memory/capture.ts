import {
  decodeEvent,
  type OwnerId,
  type RunId,
  type Seq,
  type SessionId,
  type StoredEvent,
  textOf,
} from "@holdfast/protocol";

import type { MemoryTurn } from "../ports/memory.ts";
import type { Reads } from "../ports/reads.ts";
import { runStartedAt, clearedEntries } from "./cleared.ts";
import type { Segment } from "./segment.ts";

const pageSize = 200;
/** Of one message. What is longer is material, and not what a person would remember of a talk. */
const maxTextLength = 32_000;

export type SpokenMessage = MemoryTurn["messages"][number];

/** Whether a person has said it, by where it came from and what its sender calls it. */
export type IsFromPerson = (from: {
  readonly lane: string | null;
  readonly clientId: string | null;
}) => boolean;

export const allFromPeople: IsFromPerson = () => true;

/**
 * The turns of a segment. One that was undone is left out; one that was cleared is not, since clearing ends a talk and
 * does not take it back. One without a word says nothing, and neither does one without a person's.
 */
export async function captureTurns(
  reads: Reads,
  owner: OwnerId,
  session: SessionId,
  segment: Pick<Segment, "marks" | "upTo">,
  isPersons: IsFromPerson,
): Promise<readonly MemoryTurn[]> {
  const inView = await readInView(reads, owner, session, segment);
  const turns: MemoryTurn[] = [];
  for (const mark of segment.marks) {
    const { seq: generation, runId, at } = mark;
    const entries = inView.get(runId) ?? (await clearedEntries(reads, owner, mark));
    const messages = entries.flatMap((entry) => spokenMessages(entry, isPersons));
    if (hasPerson(messages)) turns.push({ generation, runId, at, messages });
  }
  return turns;
}

/** What is in view of each run, read backwards from the segment's end to where its first run began, and no further. */
async function readInView(
  reads: Reads,
  owner: OwnerId,
  session: SessionId,
  { marks, upTo }: Pick<Segment, "marks" | "upTo">,
): Promise<ReadonlyMap<RunId, readonly StoredEvent[]>> {
  const found = new Map<RunId, StoredEvent[]>();
  const [first] = marks;
  if (first === undefined) return found;
  const begun = await runStartedAt(reads, owner, first);
  const runs = new Set(marks.map(({ runId }) => runId));
  let before = (upTo + 1) as Seq;
  for (;;) {
    const page = await reads.entries(owner, session, { before, limit: pageSize });
    const [oldest] = page?.entries ?? [];
    for (const entry of page?.entries.toReversed() ?? []) {
      const { runId } = entry;
      if (
        runId === undefined ||
        !runs.has(runId) ||
        spokenMessages(entry, allFromPeople).length === 0
      )
        continue;
      found.set(runId, [entry, ...(found.get(runId) ?? [])]);
    }
    if (page?.more !== true || oldest === undefined || oldest.at < begun) return found;
    before = oldest.seq;
  }
}

/** Whether somebody is among those who speak whose words are worth keeping. */
export function hasPerson(said: readonly SpokenMessage[]): boolean {
  return said.some(({ role }) => role === "user");
}

/** What was given to the model beside a person's words is no part of them: what is recalled is not remembered again. */
export function spokenMessages(
  entry: StoredEvent,
  isPersons: IsFromPerson,
): readonly SpokenMessage[] {
  const decoded = decodeEvent(entry);
  if (decoded.kind !== "known" || entry.data["superseded"] === true) return [];
  const { event } = decoded;
  if (event.type !== "message.user" && event.type !== "message.assistant") return [];
  const role = event.type === "message.user" ? "user" : "assistant";
  if (event.type === "message.user") {
    const { lane = null, clientId = null } = event.data;
    if (!isPersons({ lane, clientId })) return [];
  }
  const text = textOf(event.data.parts).slice(0, maxTextLength);
  return text === "" ? [] : [{ role, text }];
}
