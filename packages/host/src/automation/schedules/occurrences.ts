import type { ScheduleTimes } from "@holdfast/protocol";

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

/** One time at which a schedule is due. */
export interface Occurrence {
  readonly at: number;
  /** What the clocks there show, or would: it names the occurrence for good, whoever counts from wherever. */
  readonly name: string;
}

export interface ScheduleRule {
  readonly times: ScheduleTimes;
  readonly timeZone: string;
}

const dayMs = 24 * 60 * 60_000;
const weekdays = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"] as const;

const occurrenceCache = new Map<string, Occurrence | null>();
const maxCached = 1_000;

/**
 * The first occurrence behind an instant; `null` when there will be none. Calendars are slow, and who looks for what is due
 * asks the same of every schedule every few seconds: the answer never changes.
 */
export function nextOccurrence(
  { times, timeZone }: ScheduleRule,
  after: number,
): Occurrence | null {
  const question = JSON.stringify([timeZone, times, after]);
  const answer = occurrenceCache.get(question);
  if (answer !== undefined) return answer;
  if (occurrenceCache.size >= maxCached) occurrenceCache.clear();
  const found = findNext({ times, timeZone }, after);
  occurrenceCache.set(question, found);
  return found;
}

function findNext({ times, timeZone }: ScheduleRule, after: number): Occurrence | null {
  if ("date" in times) {
    const only = occurrenceOn(times.date, times.at, timeZone);
    return only.at > after ? only : null;
  }
  // A day before: what clocks pass over is due later than they would show it.
  const today = Math.floor(wallAt(timeZone, after) / dayMs) - 1;
  let first: Occurrence | null = null;
  for (let [day, last] = [today, today + 9]; day <= last; day += 1) {
    const date = new Date(day * dayMs);
    const weekday = weekdays[date.getUTCDay()];
    if (weekday === undefined || !times.days.includes(weekday)) continue;
    for (const time of times.at) {
      const found = occurrenceOn(date.toISOString().slice(0, 10), time, timeZone);
      if (found.at <= after || (first !== null && isBefore(first, found))) continue;
      first = found;
      // What the day after brings may still come before what was put off.
      last = Math.min(last, day + 1);
    }
  }
  return first;
}

/** Those between two instants, the newest of them where they are many. */
export function occurrencesBetween(rule: ScheduleRule, after: number, upTo: number): Occurrence[] {
  const found: Occurrence[] = [];
  for (let from = after; ;) {
    const next = nextOccurrence(rule, from);
    if (next === null || next.at > upTo) return found;
    found.push(...atSameInstant(rule, next));
    if (found.length > maxOccurrences) found.splice(0, found.length - maxOccurrences);
    from = next.at;
  }
}

const maxOccurrences = 100;
/** Ever further back. No week is without an occurrence, and no change of clocks makes one longer than nine days. */
const lookBackMs = [dayMs / 24, dayMs, 9 * dayMs];

/** The newest between two instants, with all others of its last hour: after years as soon as after a day. */
export function newestBetween(rule: ScheduleRule, after: number, upTo: number): Occurrence[] {
  const next = nextOccurrence(rule, after);
  if (next === null || next.at > upTo) return [];
  if ("date" in rule.times) return [next];
  for (const back of lookBackMs) {
    const found = occurrencesBetween(rule, Math.max(after, upTo - back), upTo);
    if (found.length > 0) return found;
  }
  return [];
}

/** Two times of a day may fall on one instant, where clocks pass over one of them. */
function atSameInstant({ times, timeZone }: ScheduleRule, one: Occurrence): readonly Occurrence[] {
  if ("date" in times) return [one];
  const all = times.at.map((time) => occurrenceOn(one.name.slice(0, 10), time, timeZone));
  return all.filter(({ at }) => at === one.at).toSorted((a, b) => (isBefore(a, b) ? -1 : 1));
}

function isBefore(a: Occurrence, b: Occurrence): boolean {
  return a.at < b.at || (a.at === b.at && a.name < b.name);
}

function occurrenceOn(date: string, time: string, timeZone: string): Occurrence {
  const name = `${date}T${time}`;
  return { at: instantOf(timeZone, Date.parse(`${name}:00Z`)), name };
}
