import { z } from "zod";

import { laneKey, scheduleId, sessionId } from "../ids.ts";
import { defineRoute } from "./define.ts";
import { idempotencyHeader } from "./sessions.ts";

const time = z.string().regex(/^(?:[01]\d|2[0-3]):[0-5]\d$/, "expected a time like 08:00");
const weekday = z.enum(["mon", "tue", "wed", "thu", "fri", "sat", "sun"]);
const unique = (list: readonly string[]) => new Set(list).size === list.length;

/** How far apart the times of a schedule are at least, and may be in an interval. */
export const scheduleMinutes = { min: 5, max: 31 * 24 * 60 } as const;

/** On some days of each week, once, every so often, or by a cron expression. */
export const scheduleTimes = z.union([
  z.strictObject({
    days: z.array(weekday).min(1).max(7).refine(unique, "each day once"),
    at: z.array(time).min(1).max(24).refine(unique, "each time once"),
  }),
  z.strictObject({ date: z.iso.date(), at: time }),
  z.strictObject({
    everyMinutes: z.int().min(scheduleMinutes.min).max(scheduleMinutes.max),
    /** The instant from which it is counted: when it was made, unless another one is named. */
    from: z.int().min(0).optional(),
  }),
  /** Five fields, in the schedule's time zone: minute, hour, day of the month, month, day of the week. */
  z.strictObject({ cron: z.string().trim().min(1).max(200) }),
]);
export type ScheduleTimes = z.infer<typeof scheduleTimes>;

/**
 * Where the prompt is sent: to whichever session a lane points at then, whose chat gets the answer, or always to one
 * session.
 */
const target = z.union([z.strictObject({ lane: laneKey }), z.strictObject({ sessionId })]);

/** What a schedule may cost in a day, a week from Monday on, or a month, in its time zone. */
const scheduleSpendLimit = z.strictObject({
  /** Millionths of a dollar, with the tasks that its runs delegate. */
  costMicros: z.int().min(1).max(1_000_000_000_000),
  per: z.enum(["day", "week", "month"]),
});
export type ScheduleSpendLimit = z.infer<typeof scheduleSpendLimit>;

const fields = {
  title: z.string().trim().min(1).max(100),
  prompt: z.string().trim().min(1).max(4_000),
  times: scheduleTimes,
  /** An IANA name: Europe/Berlin. */
  timeZone: z.string().min(1).max(100),
  target,
  /** What happens to times at which no host was running: nothing, or one run for all of them. */
  missed: z.enum(["skip", "once"]),
  state: z.enum(["on", "off"]),
  /** `changes`: an answer that says nothing new since the last report is kept, and not delivered. By default `always`. */
  report: z.enum(["always", "changes"]).optional(),
  /** Past it, what runs stops after its step, and nothing begins before the next period. By default there is none. */
  spendLimit: scheduleSpendLimit.nullish(),
};

/** What the model answers to a schedule that reports only changes when there are none. */
export const nothingNew = "Nothing new.";

/** Models add stars, quotes or a full stop now and then. */
export function isNothingNew(text: string): boolean {
  return /^[\s*_`"“”'>]*nothing new[\s*_`"“”'.!]*$/i.test(text);
}

/** `occurrence`: local time in its zone; `now` if a person asked for it. */
const lastOccurrence = z.looseObject({
  occurrence: z.string(),
  at: z.int(),
  /** `accepted`, `skipped`, or why it was refused. */
  outcome: z.string(),
  /** Where it was sent. */
  sessionId: sessionId.optional(),
});

/** Who made a schedule, if it was not the owner: its runs have at most their rights, then and now. */
const maker = z.looseObject({
  /** Where they made it: `mcp:client`. */
  lane: laneKey,
  /** The rights profile that they had then. */
  profile: z.string(),
});

export const scheduleView = z.looseObject({
  id: scheduleId,
  ...fields,
  maker: maker.optional(),
  createdAt: z.int(),
  /** When it is due next; `null` if it is off, or over. */
  nextAt: z.int().nullable(),
  last: lastOccurrence.nullable(),
  /** The most recent occurrences, newest first. */
  recent: z.array(lastOccurrence),
  /** With a limit: what was spent in this period, and when it ends. */
  spending: z.looseObject({ spentMicros: z.int(), from: z.int(), until: z.int() }).optional(),
  /**
   * The newest runs in its session reported nothing new: when something new was last said there (0: not in what was
   * looked at), and up to which `sortAt` of the session that holds.
   */
  quiet: z.looseObject({ sessionId, newsAt: z.number(), until: z.number() }).optional(),
});
export type ScheduleView = z.infer<typeof scheduleView>;

const { title, prompt, times, timeZone, missed, state, report, spendLimit } = fields;
const changeableFields = z.strictObject({
  title,
  prompt,
  times,
  timeZone,
  target,
  missed: missed.optional(),
  state: state.optional(),
  report,
  spendLimit,
});
const scheduleBody = changeableFields.extend({
  /** The lane of the program that makes it, so that its runs have at most that lane's rights; by default your own. */
  madeIn: laneKey.optional(),
});
export type ScheduleBody = z.infer<typeof scheduleBody>;

const withSchedule = z.looseObject({ schedule: scheduleView });
const params = z.strictObject({ id: scheduleId });
const example = {
  title: "Morning",
  prompt: "Summarise my inbox folder.",
  times: { days: ["mon", "tue", "wed", "thu", "fri"], at: ["08:00"] },
  timeZone: "Europe/Berlin",
  target: { lane: "telegram:424242:p7:0" },
};

export const scheduleRoutes = {
  listSchedules: defineRoute({
    method: "GET",
    path: "/api/schedules",
    summary: "Prompts that are said by themselves, with when they are due next",
    access: "principal",
    answer: {
      media: "json",
      status: 200,
      schema: z.looseObject({ schedules: z.array(scheduleView) }),
    },
    problems: [],
    repeat: "safe",
  }),
  previewSchedule: defineRoute({
    method: "POST",
    path: "/api/schedules/preview",
    summary: "When a schedule with these times would be due next, or what is wrong with them",
    access: "principal",
    body: z.strictObject({ times, timeZone }),
    example: { times: { cron: "0 8 * * mon-fri" }, timeZone: "Europe/Berlin" },
    answer: { media: "json", status: 200, schema: z.looseObject({ next: z.array(z.int()) }) },
    problems: [],
    repeat: "safe",
  }),
  createSchedule: defineRoute({
    method: "POST",
    path: "/api/schedules",
    summary: "Have a prompt said at certain times",
    access: "principal",
    headers: idempotencyHeader,
    body: scheduleBody,
    example,
    answer: { media: "json", status: 201, schema: withSchedule },
    problems: ["session_not_found", "lane_not_found", "too_many_schedules"],
    repeat: "key",
  }),
  changeSchedule: defineRoute({
    method: "PATCH",
    path: "/api/schedules/:id",
    summary:
      "Change a schedule, or switch it on or off; times that have passed are not made up for",
    access: "principal",
    params,
    body: changeableFields.partial(),
    example: { state: "off" },
    answer: { media: "json", status: 200, schema: withSchedule },
    problems: ["schedule_not_found", "session_not_found", "lane_not_found"],
    repeat: "safe",
  }),
  runSchedule: defineRoute({
    method: "POST",
    path: "/api/schedules/:id/run",
    summary: "Say a schedule's prompt now, beside its times",
    access: "principal",
    params,
    headers: idempotencyHeader,
    answer: { media: "json", status: 202, schema: withSchedule.extend({ sessionId }) },
    problems: ["schedule_not_found", "session_not_found", "session_trashed"],
    repeat: "key",
  }),
  removeSchedule: defineRoute({
    method: "DELETE",
    path: "/api/schedules/:id",
    summary: "Remove a schedule; what it has said stays",
    access: "principal",
    params,
    answer: { media: "none", status: 204 },
    problems: ["schedule_not_found"],
    repeat: "safe",
  }),
} as const;
