import {
  type LaneKey,
  type ScheduleBody,
  type ScheduleSpendLimit,
  type ScheduleTimes,
  type ScheduleView,
  type SessionId,
  laneKey,
  sessionId,
} from "@holdfast/protocol";

export const weekdays = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"] as const;
export type Weekday = (typeof weekdays)[number];

/** The values of the form, including those that the chosen kind of repetition ignores. */
export interface ScheduleDraft {
  readonly prompt: string;
  readonly title: string;
  readonly repeat: "weekly" | "once" | "interval" | "cron";
  readonly days: readonly Weekday[];
  readonly at: readonly string[];
  readonly date: string;
  readonly every: string;
  readonly unit: IntervalUnit;
  /** The beginning of an interval, which an edit keeps. */
  readonly from: number | null;
  readonly cron: string;
  readonly timeZone: string;
  /** A lane, a session, or `own` for a session that is yet to be created. */
  readonly where: string;
  readonly missed: "skip" | "once";
  readonly report: "always" | "changes";
  /** In dollars; empty for no limit. */
  readonly limit: string;
  readonly limitPer: ScheduleSpendLimit["per"];
}

const unitMinutes = { minutes: 1, hours: 60, days: 24 * 60 } as const;
export type IntervalUnit = keyof typeof unitMinutes;
export const intervalUnits = ["minutes", "hours", "days"] as const;

/** In the largest unit that fits. */
export function splitInterval(everyMinutes: number): { count: number; unit: IntervalUnit } {
  const unit =
    intervalUnits.findLast((each) => everyMinutes % unitMinutes[each] === 0) ?? "minutes";
  return { count: everyMinutes / unitMinutes[unit], unit };
}

const maxTitleLength = 60;

export function emptyDraft(timeZone: string, today: string): ScheduleDraft {
  return {
    prompt: "",
    title: "",
    repeat: "weekly",
    days: ["mon", "tue", "wed", "thu", "fri"],
    at: ["08:00"],
    date: today,
    every: "2",
    unit: "hours",
    from: null,
    cron: "",
    timeZone,
    where: "own",
    missed: "skip",
    report: "always",
    limit: "",
    limitPer: "month",
  };
}

export function draftFromSchedule(schedule: ScheduleView, today: string): ScheduleDraft {
  const { prompt, title, times, timeZone, target, missed, report = "always" } = schedule;
  const where = "lane" in target ? target.lane : target.sessionId;
  const { spendLimit } = schedule;
  const limits = spendLimit && {
    limit: String(spendLimit.costMicros / 1_000_000),
    limitPer: spendLimit.per,
  };
  const own = { prompt, title, where, missed, report, ...limits };
  const common = { ...emptyDraft(timeZone, today), ...own };
  if ("everyMinutes" in times) {
    const { count, unit } = splitInterval(times.everyMinutes);
    return { ...common, repeat: "interval", every: String(count), unit, from: times.from ?? null };
  }
  if ("cron" in times) return { ...common, repeat: "cron", cron: times.cron };
  return "date" in times
    ? { ...common, repeat: "once", date: times.date, at: [times.at] }
    : { ...common, repeat: "weekly", days: times.days, at: times.at };
}

type Missing = {
  readonly kind: "missing";
  readonly field: "prompt" | "days" | "times" | "interval" | "cron" | "limit";
};
export type DraftResult =
  | Missing
  | { readonly kind: "complete"; readonly body: Omit<ScheduleBody, "target"> };

/** The body of the request. The host validates it; this only reports what is plainly missing. */
export function draftToBody(draft: ScheduleDraft): DraftResult {
  const prompt = draft.prompt.trim();
  if (prompt === "") return { kind: "missing", field: "prompt" };
  const drafted = draftTimes(draft);
  if (drafted.kind === "missing") return drafted;
  const title = draft.title.trim() === "" ? titleFrom(prompt) : draft.title.trim();
  const { missed, report } = draft;
  const { times } = drafted;
  const timeZone = draft.timeZone.trim();
  const costMicros = Math.round(Number(draft.limit) * 1_000_000);
  const hasLimit = draft.limit.trim() !== "";
  if (hasLimit && !(costMicros > 0)) return { kind: "missing", field: "limit" };
  const spendLimit = hasLimit ? { costMicros, per: draft.limitPer } : null;
  return { kind: "complete", body: { prompt, title, timeZone, missed, report, times, spendLimit } };
}

export function draftTimes(
  draft: ScheduleDraft,
): Missing | { readonly kind: "complete"; readonly times: ScheduleTimes } {
  const { repeat, days, date, every, unit, from, cron } = draft;
  if (repeat === "interval") {
    const everyMinutes = Number(every) * unitMinutes[unit];
    if (!Number.isInteger(everyMinutes) || everyMinutes < 1)
      return { kind: "missing", field: "interval" };
    return { kind: "complete", times: { everyMinutes, ...(from !== null && { from }) } };
  }
  if (repeat === "cron")
    return cron.trim() === ""
      ? { kind: "missing", field: "cron" }
      : { kind: "complete", times: { cron: cron.trim() } };
  const at = [...new Set(draft.at.filter((time) => time !== ""))].toSorted();
  const [first] = at;
  if (first === undefined || (repeat === "once" && date === ""))
    return { kind: "missing", field: "times" };
  if (repeat === "once") return { kind: "complete", times: { date, at: first } };
  if (days.length === 0) return { kind: "missing", field: "days" };
  return {
    kind: "complete",
    times: { days: weekdays.filter((day) => days.includes(day)), at },
  };
}

function titleFrom(prompt: string): string {
  const line = prompt.split("\n", 1)[0] ?? "";
  return line.length <= maxTitleLength ? line : `${line.slice(0, maxTitleLength - 1).trimEnd()}…`;
}

/** `null` if a session has to be created first. */
export function parseTarget(where: string): { lane: LaneKey } | { sessionId: SessionId } | null {
  const session = sessionId.safeParse(where);
  if (session.success) return { sessionId: session.data };
  const lane = laneKey.safeParse(where);
  return lane.success ? { lane: lane.data } : null;
}
