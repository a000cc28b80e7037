import type { Recall } from "@holdfast/engine";
import { timeSource } from "@holdfast/protocol";

export interface MessageTimeDeps {
  readonly now: () => Promise<number>;
  readonly timeZone: () => string;
}

/**
 * Tells the model with each message when it is. P9: the time is part of the message and stored as sent; in the system
 * prompt it would change every session's first bytes each day.
 */
export function messageTime({ now, timeZone }: MessageTimeDeps): Recall {
  return async () => [
    { type: "attached", source: timeSource, text: describeTime(await now(), timeZone()) },
  ];
}

/** `Wednesday, 18 November 2026, 21:14 (Europe/Berlin)`. */
function describeTime(at: number, timeZone: string): string {
  const text = new Intl.DateTimeFormat("en-GB", {
    timeZone,
    weekday: "long",
    day: "numeric",
    month: "long",
    year: "numeric",
    hour: "2-digit",
    minute: "2-digit",
    hourCycle: "h23",
  }).formatToParts(at);
  const part = (type: Intl.DateTimeFormatPartTypes): string =>
    text.find((each) => each.type === type)?.value ?? "";
  const day = `${part("weekday")}, ${part("day")} ${part("month")} ${part("year")}`;
  return `${day}, ${part("hour")}:${part("minute")} (${timeZone})`;
}
