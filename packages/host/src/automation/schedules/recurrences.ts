import { Cron } from "croner";
import { scheduleMinutes } from "@holdfast/protocol";

const minuteMs = 60_000;

export interface Interval {
  readonly everyMinutes: number;
  /** The instant from which it is counted, so that clocks that change move nothing. */
  readonly from?: number | undefined;
}

/** The first instant after another one, and never the beginning itself. */
export function nextOfInterval({ everyMinutes, from = 0 }: Interval, after: number): number {
  const stepMs = everyMinutes * minuteMs;
  return from + Math.max(1, Math.floor((after - from) / stepMs) + 1) * stepMs;
}

/** The last instant up to another one; `null` before the first. */
export function lastOfInterval({ everyMinutes, from = 0 }: Interval, upTo: number): number | null {
  const stepMs = everyMinutes * minuteMs;
  const steps = Math.floor((upTo - from) / stepMs);
  return steps < 1 ? null : from + steps * stepMs;
}

/** `null` if there is none, also for an expression that another version understood. */
export function nextOfCron(expression: string, timeZone: string, after: number): number | null {
  try {
    return parse(expression, timeZone).nextRun(new Date(after))?.getTime() ?? null;
  } catch {
    return null;
  }
}

function parse(expression: string, timeZone: string): Cron {
  return new Cron(expression, { timezone: timeZone, mode: "5-part", paused: true });
}

const fields = [
  ["minute", "0 to 59"],
  ["hour", "0 to 23"],
  ["day of the month", "1 to 31, or L for the last"],
  ["month", "1 to 12, or jan to dec"],
  ["day of the week", "0 to 7, or sun to sat"],
] as const;
/** How many times are compared to see how close they are: an hour's worth of minutes, and more. */
const comparedTimes = 70;

/** What is wrong with an expression, in words. */
export function cronProblem(expression: string, timeZone: string, now: number): string | null {
  const parts = expression.trim().split(/\s+/);
  if (parts.length !== fields.length)
    return `expected five fields (minute, hour, day of the month, month, day of the week), like 0 8 * * mon-fri; this has ${parts.length}`;
  for (const [index, [name, range]] of fields.entries()) {
    const alone = fields.map((_, other) => (other === index ? parts[index] : "*")).join(" ");
    if (!isValid(alone, timeZone))
      return `the ${name} “${parts[index]}” is not valid: expected ${range}, with lists (1,3), ranges (1-5) and steps (*/2)`;
  }
  if (!isValid(expression, timeZone)) return "expected a cron expression like 0 8 * * mon-fri";
  let before = nextOfCron(expression, timeZone, now);
  if (before === null) return "no day ever fits this";
  for (let count = 0; count < comparedTimes; count += 1) {
    const next = nextOfCron(expression, timeZone, before);
    if (next === null) return null;
    if (next - before < scheduleMinutes.min * minuteMs)
      return `this comes more often than every ${scheduleMinutes.min} minutes`;
    before = next;
  }
  return null;
}

function isValid(expression: string, timeZone: string): boolean {
  try {
    return parse(expression, timeZone) !== null;
  } catch {
    return false;
  }
}
