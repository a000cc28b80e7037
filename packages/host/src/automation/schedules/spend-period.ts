import type { ScheduleSpendLimit } from "@holdfast/protocol";
import { instantOf, wallAt } from "./occurrences.ts";

const dayMs = 24 * 60 * 60_000;

/** The day, the week from Monday on or the month in a time zone that contains an instant. */
export function spendPeriod(
  per: ScheduleSpendLimit["per"],
  timeZone: string,
  now: number,
): { readonly from: number; readonly until: number } {
  const today = new Date(Math.floor(wallAt(timeZone, now) / dayMs) * dayMs);
  const [from, until] = daysOf(per, today);
  return { from: instantOf(timeZone, from), until: instantOf(timeZone, until) };
}

/** The first day, and the day after the last, as if they were UTC. */
function daysOf(per: ScheduleSpendLimit["per"], today: Date): readonly [number, number] {
  const start = today.getTime();
  switch (per) {
    case "day":
      return [start, start + dayMs];
    case "week": {
      const monday = start - ((today.getUTCDay() + 6) % 7) * dayMs;
      return [monday, monday + 7 * dayMs];
    }
    case "month": {
      const [year, month] = [today.getUTCFullYear(), today.getUTCMonth()];
      return [Date.UTC(year, month, 1), Date.UTC(year, month + 1, 1)];
    }
  }
}
