import * as fc from "fast-check";
import { describe, expect, test } from "vitest";

import {
  instantOf,
  newestBetween,
  nextOccurrence,
  type Occurrence,
  type ScheduleRule,
  wallAt,
} from "./occurrences.ts";
import { cronProblem } from "./recurrences.ts";

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;
const zone = fc.constantFrom(
  "UTC",
  "Europe/Berlin",
  "America/New_York",
  "America/St_Johns",
  "Australia/Lord_Howe",
  "Asia/Kathmandu",
  "Africa/Casablanca",
);
const instant = fc.integer({ min: Date.UTC(2015, 0, 1), max: Date.UTC(2035, 0, 1) });
const interval = fc.record({
  everyMinutes: fc.integer({ min: 5, max: 3 * 24 * 60 }),
  from: instant.map((at) => at - (at % minuteMs)),
});
const cron = fc.constantFrom(
  "*/5 * * * *",
  "30 * * * *",
  "30 2 * * *",
  "0,30 1-3 * * *",
  "15 */3 * * mon-fri",
  "0 0 L * *",
  "0 9 1 jan,jul *",
  "59 23 * * sun",
);
const rule: fc.Arbitrary<ScheduleRule> = fc.oneof(
  fc.record({ times: interval, timeZone: zone }),
  fc.record({ times: fc.record({ cron }), timeZone: zone }),
);

/** Around the days on which clocks of these zones change. */
const nearChange = fc
  .tuple(
    fc.constantFrom("2026-03-08", "2026-03-29", "2026-04-05", "2026-10-04", "2026-10-25"),
    fc.integer({ min: -48 * 60, max: 48 * 60 }),
  )
  .map(([day, minutes]) => Date.parse(day) + minutes * minuteMs);

function following(schedule: ScheduleRule, after: number, count: number): Occurrence[] {
  const found: Occurrence[] = [];
  for (let from = after; found.length < count;) {
    const next = nextOccurrence(schedule, from);
    if (next === null) break;
    found.push(next);
    from = next.at;
  }
  return found;
}

describe("occurrences of intervals and cron expressions", () => {
  test("[P11] each is later than the one before and has a name of its own, also where clocks change", () => {
    fc.assert(
      fc.property(rule, fc.oneof(instant, nearChange), (schedule, after) => {
        const found = following(schedule, after, 40);
        expect(found).toHaveLength(40);
        expect(found[0]?.at).toBeGreaterThan(after);
        const instants = found.map(({ at }) => at);
        expect(instants).toEqual([...new Set(instants)].toSorted((a, b) => a - b));
        expect(new Set(found.map(({ name }) => name)).size).toBe(40);
      }),
      { numRuns: 60 },
    );
  });

  test("the next one is the same from any instant before it", () => {
    fc.assert(
      fc.property(rule, instant, fc.nat({ max: 1_000 }), (schedule, after, permille) => {
        const next = nextOccurrence(schedule, after);
        if (next === null) return;
        const between = after + Math.floor(((next.at - 1 - after) * permille) / 1_000);
        expect(nextOccurrence(schedule, between)).toEqual(next);
      }),
      { numRuns: 150 },
    );
  });

  test("the newest of a span is the last that one finds by walking through it", () => {
    fc.assert(
      fc.property(rule, instant, fc.nat({ max: 200 * 60 }), (schedule, after, minutes) => {
        const upTo = after + minutes * minuteMs;
        const walked = following(schedule, after, 3_000).findLast(({ at }) => at <= upTo);
        expect(newestBetween(schedule, after, upTo).at(-1)).toEqual(walked);
      }),
      { numRuns: 15 },
    );
  });

  test("an interval keeps its distance where clocks change", () => {
    fc.assert(
      fc.property(interval, zone, nearChange, (times, timeZone, after) => {
        const [first, ...others] = following({ times, timeZone }, after, 10);
        for (const [index, { at }] of others.entries())
          expect(at - (first?.at ?? 0)).toBe((index + 1) * times.everyMinutes * minuteMs);
      }),
      { numRuns: 100 },
    );
  });

  test("a time of day in an expression is that of its zone, unless clocks skip it", () => {
    const times = { cron: "30 2 * * *" };
    fc.assert(
      fc.property(zone, instant, (timeZone, after) => {
        const at = nextOccurrence({ times, timeZone }, after)?.at ?? 0;
        const wall = wallAt(timeZone, at);
        const day = wall - (wall % (24 * hourMs));
        const wanted = day + 2.5 * hourMs;
        const isSkipped = wallAt(timeZone, instantOf(timeZone, wanted)) !== wanted;
        expect(isSkipped || wall === wanted).toBe(true);
      }),
      { numRuns: 150 },
    );
  });
});

test("a time that clocks show twice is two occurrences of an interval", () => {
  const from = Date.parse("2026-10-24T22:30Z");
  const times = { everyMinutes: 60, from };
  expect(following({ times, timeZone: "Europe/Berlin" }, from, 4).map(({ name }) => name)).toEqual([
    "2026-10-25T01:30",
    "2026-10-25T02:30",
    "2026-10-25T02:30/2",
    "2026-10-25T03:30",
  ]);
});

test.each([
  ["0 8 * *", /five fields .*this has 4/],
  ["61 * * * *", /the minute “61” is not valid: expected 0 to 59/],
  ["0 24 * * *", /the hour “24”/],
  ["0 8 * * mon-xyz", /the day of the week “mon-xyz”/],
  ["0 8 30 2 *", /no day ever fits/],
  ["* * * * *", /more often than every 5 minutes/],
  ["0,58 * * * *", /more often than every 5 minutes/],
  ["@daily", /five fields/],
])("what is wrong with the expression %s is said in words", (expression, reason) => {
  expect(cronProblem(expression, "Europe/Berlin", 0)).toMatch(reason);
});

test("times that are close only later in the hour are found, whenever one looks", () => {
  for (let minute = 0; minute < 60; minute += 1)
    expect(cronProblem("0,30,57 * * * *", "UTC", minute * 60_000)).toMatch(/more often than/);
});

test.each(["0 8 * * mon-fri", "*/5 * * * *", "0 0 L * *", "0 0 29 2 *", "0 9 1 jan,jul sun"])(
  "the expression %s is accepted",
  (expression) => {
    expect(cronProblem(expression, "Europe/Berlin", 0)).toBeNull();
  },
);
