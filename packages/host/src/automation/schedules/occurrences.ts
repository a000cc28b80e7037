const minuteMs = 60_000;
const zoneDayMs = 24 * 60 * minuteMs;

/** A time as clocks on the wall show it, counted in milliseconds as if it were universal time. */
export type WallTime = number;

const formats = new Map<string, Intl.DateTimeFormat>();
/** One zone has many spellings, and each would be kept. */
const maxFormats = 100;

function formatFor(timeZone: string): Intl.DateTimeFormat {
  let format = formats.get(timeZone);
  if (format === undefined) {
    format = new Intl.DateTimeFormat("en-US", {
      timeZone,
      calendar: "iso8601",
      numberingSystem: "latn",
      hourCycle: "h23",
      year: "numeric",
      month: "2-digit",
      day: "2-digit",
      hour: "2-digit",
      minute: "2-digit",
      second: "2-digit",
    });
    if (formats.size >= maxFormats) formats.clear();
    formats.set(timeZone, format);
  }
  return format;
}

export function isTimeZone(name: string): boolean {
  try {
    return formatFor(name) !== undefined;
  } catch {
    return false;
  }
}

/** What clocks in a zone show at an instant. */
export function wallAt(timeZone: string, instant: number): WallTime {
  const shown: Partial<Record<Intl.DateTimeFormatPartTypes, number>> = {};
  for (const { type, value } of formatFor(timeZone).formatToParts(instant))
    shown[type] = Number(value);
  const { year = 0, month = 1, day = 1, hour = 0, minute = 0, second = 0 } = shown;
  return Date.UTC(year, month - 1, day, hour, minute, second);
}

/**
 * The instant at which clocks in a zone show this time. Where they show it twice, the first; where they pass over it, as long
 * after the jump as it would have been after the moment of the jump: half past two, when two becomes three, is half past three.
 */
export function instantOf(timeZone: string, wall: WallTime): number {
  const [before, after] = [wall - zoneDayMs, wall + zoneDayMs].map(
    (near) => wallAt(timeZone, near) - near,
  );
  const candidates = [wall - (before ?? 0), wall - (after ?? 0)];
  const shown = candidates.filter((instant) => wallAt(timeZone, instant) === wall);
  return shown.length === 0 ? wall - (before ?? 0) : Math.min(...shown);
}
