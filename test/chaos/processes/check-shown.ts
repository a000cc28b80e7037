import { decodeEvent, type Part, type SessionId, type StoredEvent } from "@holdfast/protocol";

import { bySeq, type Evidence, type Settlement, settlements } from "./evidence.ts";

/**
 * P5: everything that a follower saw is stored. An event that isn't a delta is stored as shown; the text of a delta
 * is in the message that settled it, at the same position; and a seq that was skipped belongs to a settled message.
 */
export function checkShown({ happened, logs }: Evidence): string[] {
  const problems: string[] = [];
  const judges = new Map<SessionId, (event: StoredEvent) => string | null>();
  const places = new Map<string, number>();
  for (const observation of happened) {
    if (observation.kind !== "seen" && observation.kind !== "placed") continue;
    const { by, session } = observation;
    const place = `${by} ${session}`;
    if (observation.kind === "placed") {
      places.set(place, observation.after);
      continue;
    }
    const log = logs.get(session) ?? [];
    const judge = judges.get(session) ?? judgeFor(log);
    judges.set(session, judge);
    for (const event of observation.events) {
      const wrong = judge(event) ?? passedOver(log, places.get(place) ?? 0, event.seq);
      places.set(place, event.seq);
      if (wrong !== null)
        problems.push(`[P5] ${by} was shown ${event.seq} of ${session}: ${wrong}`);
    }
  }
  return problems;
}

const held = new WeakMap<readonly StoredEvent[], ReturnType<typeof indexesOf>>();

function indexesOf(log: readonly StoredEvent[]) {
  return { stored: bySeq(log), settled: settlements(log), first: log[0]?.seq ?? 1 };
}

function indexed(log: readonly StoredEvent[]) {
  const found = held.get(log) ?? indexesOf(log);
  held.set(log, found);
  return found;
}

function passedOver(log: readonly StoredEvent[], after: number, upTo: number): string | null {
  const { settled, first } = indexed(log);
  if (upTo <= after) return `it stands behind ${after}`;
  for (let seq = Math.max(after + 1, first); seq < upTo; seq += 1)
    if (!settled.has(seq)) return `${seq} was passed over`;
  return null;
}

function judgeFor(log: readonly StoredEvent[]): (event: StoredEvent) => string | null {
  const { stored, settled } = indexed(log);
  return (shown) => {
    const { seq, id } = shown;
    const there = stored.get(seq);
    if (there !== undefined && there.id !== id) return `${there.id} stands in the place of ${id}`;
    const isDelta = shown.type === "message.delta" || shown.type === "tool.output";
    if (!isDelta && there === undefined) return `${shown.type} ${id} is not stored`;
    if (there !== undefined && JSON.stringify(there.data) !== JSON.stringify(shown.data))
      return `${shown.type} ${id} was shown with other data than is stored`;
    if (!isDelta) return null;
    const settlement = settled.get(seq);
    if (settlement === undefined) return `nothing has settled ${shown.type} ${id}`;
    return isKept(shown, settlement.by, settlement.place)
      ? null
      : `its text is not where it was in ${settlement.by.id}`;
  };
}

function isKept(shown: StoredEvent, entry: Settlement, place: number): boolean {
  const decoded = decodeEvent(shown);
  if (decoded.kind !== "known") return false;
  const { event } = decoded;
  switch (entry.type) {
    case "notice.added":
      // Restarting a tool drops what it had written; nothing else does.
      return event.type === "tool.output";
    case "message.tool":
      return (
        event.type === "tool.output" &&
        entry.data.parts.some(
          (part) => part.type === "tool_result" && part.output.includes(event.data.text),
        )
      );
    case "message.assistant": {
      if (event.type !== "message.delta" || entry.data.messageId !== event.data.messageId)
        return false;
      const { timing = [], parts } = entry.data;
      const offset = timing.slice(0, place).reduce((sum, [, length]) => sum + length, 0);
      return parts.map(textIn).join("").startsWith(event.data.text, offset);
    }
  }
}

function textIn(part: Part): string {
  return part.type === "text" || part.type === "reasoning" ? part.text : "";
}
