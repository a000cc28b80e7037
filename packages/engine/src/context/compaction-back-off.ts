import { decodeEvent, type EventData } from "@holdfast/protocol";

import type { ContextEntries } from "./read-context.ts";

const futileNoticeKind = "compaction_in_vain";
const firstPauseMs = 60_000;
const maxPauseMs = 60 * 60_000;

type Notice = Pick<EventData<"notice.added">, "kind" | "text" | "details">;

/** What is written down when a compaction gains nothing. Each time in a row it waits twice as long. */
export function backOffNotice(entries: ContextEntries, now: number): Notice {
  const tries = lastFutileTry(entries).tries + 1;
  const pause = Math.min(maxPauseMs, firstPauseMs * 2 ** (tries - 1));
  return {
    kind: futileNoticeKind,
    text: "The conversation could not be made shorter for the model: too little of it can be summarised. Take something out of it, or begin a new one.",
    details: { tries, until: now + pause },
  };
}

/** Until when nobody but a person tries again; 0 when nothing stands in the way. */
export function backedOffUntil(entries: ContextEntries): number {
  return lastFutileTry(entries).until;
}

/** A compaction that succeeded ends the count: its notice then lies below the epoch. */
function lastFutileTry({ tail, epoch }: ContextEntries): { tries: number; until: number } {
  const none = { tries: 0, until: 0 };
  const last = tail.findLast(
    ({ type, data }) => type === "notice.added" && data["kind"] === futileNoticeKind,
  );
  if (last === undefined || last.seq < (epoch?.seq ?? 0)) return none;
  const decoded = decodeEvent(last);
  if (decoded.kind !== "known" || decoded.event.type !== "notice.added") return none;
  const { tries, until } = decoded.event.data.details ?? {};
  return typeof tries === "number" && typeof until === "number" ? { tries, until } : none;
}
