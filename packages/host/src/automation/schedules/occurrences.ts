import type { ScheduleTimes } from "@holdfast/protocol";
import { lastOfInterval, nextOfCron, nextOfInterval } from "./recurrences.ts";

export interface Occurrence {
  readonly at: number;
  /** The wall-clock time, with `/2` if clocks show it a second time: identifies the occurrence on every host. */
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
 * The first occurrence after an instant; `null` if there is none. Cached: calendar computation is slow, the
 * scheduler asks the same for every schedule every few seconds, and the answer never changes.
 */
export function nextOccurrence(
  { times, timeZone }: ScheduleRule,
  after: number,
): Occurrence | null {
  const cacheKey = JSON.stringify([timeZone, times, after]);
  const cached = occurrenceCache.get(cacheKey);
  if (cached !== undefined) return cached;
  if (occurrenceCache.size >= maxCached) occurrenceCache.clear();
  const found = findNext({ times, timeZone }, after);
  occurrenceCache.set(cacheKey, found);
  return found;
}

function findNext({ times, timeZone }: ScheduleRule, after: number): Occurrence | null {
  if ("date" in times) {
    const occurrence = occurrenceOn(times.date, times.at, timeZone);
    return occurrence.at > after ? occurrence : null;
  }
  if ("everyMinutes" in times) return occurrenceAt(nextOfInterval(times, after), timeZone);
  if ("cron" in times) {
    const at = nextOfCron(times.cron, timeZone, after);
    return at === null ? null : occurrenceAt(at, timeZone);
  }
  // Start a day early: a skipped time is due later than its wall-clock time.
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
      // An occurrence of the next day may still precede one that was delayed by a skip.
      last = Math.min(last, day + 1);
    }
  }
  return first;
}

/** All occurrences between two instants; only the newest if there are many. */
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
/** Windows to search, ever larger: most schedules have an occurrence in every week, some only in leap years. */
const lookBackMs = [1 / 24, 1, 9, 100, 400, 3_000, 30_000].map((days) => days * dayMs);

/** The newest occurrence between two instants, with the others of its last hour. As fast after years as after a day. */
export function newestBetween(rule: ScheduleRule, after: number, upTo: number): Occurrence[] {
  const next = nextOccurrence(rule, after);
  if (next === null || next.at > upTo) return [];
  if ("date" in rule.times) return [next];
  if ("everyMinutes" in rule.times)
    return [occurrenceAt(lastOfInterval(rule.times, upTo) ?? next.at, rule.timeZone)];
  for (const windowMs of lookBackMs) {
    const found = occurrencesBetween(rule, Math.max(after, upTo - windowMs), upTo);
    if (found.length > 0) return found;
  }
  return [];
}

/** Two times of a day may fall on one instant if clocks skip one of them. */
function atSameInstant(
  { times, timeZone }: ScheduleRule,
  occurrence: Occurrence,
): readonly Occurrence[] {
  if (!("days" in times)) return [occurrence];
  const all = times.at.map((time) => occurrenceOn(occurrence.name.slice(0, 10), time, timeZone));
  return all.filter(({ at }) => at === occurrence.at).toSorted((a, b) => (isBefore(a, b) ? -1 : 1));
}

function isBefore(a: Occurrence, b: Occurrence): boolean {
  return a.at < b.at || (a.at === b.at && a.name < b.name);
}

function occurrenceOn(date: string, time: string, timeZone: string): Occurrence {
  const name = `${date}T${time}`;
  return { at: instantOf(timeZone, Date.parse(`${name}:00Z`)), name };
}

/** Named by what clocks show then: a time that they show twice is two occurrences. */
function occurrenceAt(at: number, timeZone: string): Occurrence {
  const wall = wallAt(timeZone, at);
  const shown = new Date(wall).toISOString().slice(0, 16);
  return { at, name: instantOf(timeZone, wall) === at ? shown : `${shown}/2` };
}

/** A wall-clock time, in milliseconds as if it were UTC. */
export type WallTime = number;

const formats = new Map<string, Intl.DateTimeFormat>();
/** A zone has many spellings, each cached separately. */
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

/** The wall-clock time in a zone at an instant. */
export function wallAt(timeZone: string, instant: number): WallTime {
  const fields: Partial<Record<Intl.DateTimeFormatPartTypes, number>> = {};
  for (const { type, value } of formatFor(timeZone).formatToParts(instant))
    fields[type] = Number(value);
  const { year = 0, month = 1, day = 1, hour = 0, minute = 0, second = 0 } = fields;
  return Date.UTC(year, month - 1, day, hour, minute, second);
}

/**
 * The instant at which clocks in a zone show this time. If they show it twice, the first; if they skip it, as long
 * after the jump as it would have been: 02:30, when 02:00 becomes 03:00, is 03:30.
 */
export function instantOf(timeZone: string, wall: WallTime): number {
  const [offsetBefore, offsetAfter] = [wall - dayMs, wall + dayMs].map(
    (instant) => wallAt(timeZone, instant) - instant,
  );
  const candidates = [wall - (offsetBefore ?? 0), wall - (offsetAfter ?? 0)];
  const matching = candidates.filter((instant) => wallAt(timeZone, instant) === wall);
  return matching.length === 0 ? wall - (offsetBefore ?? 0) : Math.min(...matching);
}
