import { type IdSource, newEvent, type NewEvent, type NoticeId } from "@holdfast/protocol";

import type { Segment } from "./segment.ts";

/** `stopped_waiting`: a person gave the turns up before the day was over. */
export type MemoryWording = "memory_waiting" | "remembered" | "not_remembered" | "stopped_waiting";

interface Facts {
  readonly wording: MemoryWording;
  readonly turns: number;
  readonly segment: Pick<Segment, "key" | "owner">;
}

/** One notice about turns whose provider is gone: it is added once and then says how it ended. */
export function memoryNotice(
  ids: IdSource,
  existing: NoticeId | null,
  { wording, turns, segment: { key, owner } }: Facts,
): readonly NewEvent[] {
  const content = {
    noticeId: existing ?? ids.make("notice"),
    kind: wording === "stopped_waiting" ? "not_remembered" : wording,
    text: textOf(wording, turns, owner.provider),
    details: { provider: owner.provider, turns, memoryKey: key },
  };
  const type = existing === null ? "notice.added" : "notice.changed";
  return [newEvent(ids.make("event"), type, content)];
}

function textOf(wording: MemoryWording, count: number, provider: string): string {
  const [turns, wait, were] =
    count === 1 ? ["One turn", "waits", "was"] : [`${count} turns`, "wait", "were"];
  const newer = "Newer turns go to the provider that is configured now.";
  switch (wording) {
    case "memory_waiting":
      return `${turns} of this conversation ${wait} for the memory provider ${provider}, which is not available with the current configuration. Newer turns wait too, for a day at most. Configure the provider again, or stop waiting.`;
    case "remembered":
      if (count === 0)
        return `No turn waits for the memory provider ${provider} any more: they were undone.`;
      return `${turns} of this conversation ${were} remembered after all: the memory provider ${provider} is available again.`;
    case "not_remembered":
      return `${turns} of this conversation will not be remembered: the memory provider ${provider} has not been available for a day. ${newer}`;
    case "stopped_waiting":
      return `${turns} of this conversation will not be remembered: a person stopped waiting for the memory provider ${provider}. ${newer}`;
  }
}
