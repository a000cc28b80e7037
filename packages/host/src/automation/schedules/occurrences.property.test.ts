import type { ScheduleTimes } from "@holdfast/protocol";
import * as fc from "fast-check";
import { describe, expect, test } from "vitest";

import {
  nextOccurrence,
  occurrencesBetween,
  type ScheduleRule,
  instantOf,
  wallAt,
} from "./occurrences.ts";

const dayMs = 24 * 60 * 60_000;
const zones = [
  "UTC",
  "Europe/Berlin",
  "America/New_York",
  "America/St_Johns",
  "Australia/Lord_Howe",
  "Asia/Kathmandu",
  "Pacific/Apia",
  "America/Sao_Paulo",
  "Africa/Casablanca",
];
const days = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"] as const;
const everyDay = { days: [...days] };

const zone = fc.constantFrom(...zones);
const time = fc
  .tuple(fc.integer({ min: 0, max: 23 }), fc.integer({ min: 0, max: 59 }))
  .map((parts) => parts.map((part) => String(part).padStart(2, "0")).join(":"));
const times: fc.Arbitrary<ScheduleTimes> = fc.record({
  days: fc.uniqueArray(fc.constantFrom(...days), { minLength: 1 }),
  at: fc.uniqueArray(time, { minLength: 1, maxLength: 4 }),
});
const rule: fc.Arbitrary<ScheduleRule> = fc.record({ times, timeZone: zone });
const instant = fc.integer({ min: Date.UTC(2015, 0, 1), max: Date.UTC(2035, 0, 1) });

describe("nextOccurrence", () => {
  test("is in the future, within eight days, and the same from any earlier instant", () => {
    fc.assert(
      fc.property(rule, instant, fc.nat({ max: 7 * dayMs }), (schedule, after, step) => {
        const next = nextOccurrence(schedule, after);
        expect(next).not.toBeNull();
        const { at } = next!;
        expect(at).toBeGreaterThan(after);
        expect(at - after).toBeLessThanOrEqual(8 * dayMs + 3_600_000);
        const between = Math.min(at - 1, after + step);
        expect(nextOccurrence(schedule, between)).toEqual(next);
      }),
      { numRuns: 150 },
    );
  });

  test("matches the zone's wall clock, or is later by the size of the skipped gap", () => {
    fc.assert(
      fc.property(rule, instant, (schedule, after) => {
        const { at, name } = nextOccurrence(schedule, after)!;
        const wanted = Date.parse(`${name}:00Z`);
        const delay = wallAt(schedule.timeZone, at) - wanted;
        // Samoa skipped a whole day.
        expect([0, 30 * 60_000, 60 * 60_000, dayMs]).toContain(delay);
        expect(instantOf(schedule.timeZone, wanted)).toBe(at);
      }),
      { numRuns: 150 },
    );
  });

  test("occurs once per day and time of a year, through every clock change", () => {
    fc.assert(
      fc.property(zone, fc.integer({ min: 2015, max: 2034 }), time, (timeZone, year, at) => {
        const from = instantOf(timeZone, Date.UTC(year, 0, 1)) - 1;
        const to = instantOf(timeZone, Date.UTC(year + 1, 0, 1)) - 1;
        const names = new Set<string>();
        let after = from;
        for (;;) {
          const next = nextOccurrence({ times: { ...everyDay, at: [at] }, timeZone }, after);
          if (next === null || next.at > to) break;
          names.add(next.name);
          after = next.at;
        }
        const dayCount = (Date.UTC(year + 1, 0, 1) - Date.UTC(year, 0, 1)) / dayMs;
        expect(names.size).toBe(dayCount);
      }),
      { numRuns: 8 },
    );
  });
});

describe("occurrencesBetween across clock changes", () => {
  const berlin = (at: string[], after: string, upTo: string) =>
    occurrencesBetween(
      { times: { ...everyDay, at }, timeZone: "Europe/Berlin" },
      Date.parse(after),
      Date.parse(upTo),
    ).map(({ at: instantAt, name }) => [name, new Date(instantAt).toISOString()]);

  test("a skipped time is due once, later by the size of the gap", () => {
    expect(berlin(["02:30"], "2027-03-27T12:00Z", "2027-03-28T12:00Z")).toEqual([
      ["2027-03-28T02:30", "2027-03-28T01:30:00.000Z"],
    ]);
  });

  test("a repeated time is due only the first time", () => {
    expect(berlin(["02:30"], "2026-10-24T12:00Z", "2026-10-25T12:00Z")).toEqual([
      ["2026-10-25T02:30", "2026-10-25T00:30:00.000Z"],
    ]);
  });

  test("two times that fall on one instant are two occurrences", () => {
    expect(berlin(["03:30", "02:30"], "2027-03-27T12:00Z", "2027-03-28T12:00Z")).toEqual([
      ["2027-03-28T02:30", "2027-03-28T01:30:00.000Z"],
      ["2027-03-28T03:30", "2027-03-28T01:30:00.000Z"],
    ]);
  });
});

test("a one-time schedule is due once", () => {
  const once: ScheduleRule = {
    times: { date: "2026-12-24", at: "18:00" },
    timeZone: "Europe/Berlin",
  };
  const at = Date.parse("2026-12-24T17:00Z");
  expect(nextOccurrence(once, at - 1)).toEqual({ at, name: "2026-12-24T18:00" });
  expect(nextOccurrence(once, at)).toBeNull();
});

/** Resolves local times as Temporal does with `disambiguation: "compatible"`. */
test.each([
  ["Australia/Lord_Howe", "2026-10-04T02:15", "2026-10-03T15:45:00.000Z"],
  ["Australia/Lord_Howe", "2027-04-04T01:45", "2027-04-03T14:45:00.000Z"],
  ["America/St_Johns", "2027-03-14T02:30", "2027-03-14T06:00:00.000Z"],
  ["Pacific/Apia", "2011-12-30T09:00", "2011-12-30T19:00:00.000Z"],
  ["Antarctica/Troll", "2027-03-28T02:30", "2027-03-28T02:30:00.000Z"],
  ["Antarctica/Troll", "2026-10-25T02:30", "2026-10-25T00:30:00.000Z"],
  ["America/Nuuk", "2027-03-27T23:30", "2027-03-28T01:30:00.000Z"],
  ["Africa/Cairo", "2027-04-30T00:15", "2027-04-29T22:15:00.000Z"],
  ["America/Santiago", "2026-09-06T00:15", "2026-09-06T04:15:00.000Z"],
  ["Asia/Kathmandu", "2027-01-01T00:00", "2026-12-31T18:15:00.000Z"],
])("clocks in %s show %s at %s", (timeZone, wall, at) => {
  expect(new Date(instantOf(timeZone, Date.parse(`${wall}Z`))).toISOString()).toBe(at);
});
