import type { ApiError } from "@holdfast/client";
import type { ScheduleView } from "@holdfast/protocol";
import { problemText } from "../../app-context.ts";
import { strings } from "../../strings/strings.ts";
import { splitInterval } from "./schedule-draft.ts";

type OccurrenceOutcome = ScheduleView["recent"][number];

const texts = strings.schedules;
const dayFormat = { weekday: "short", day: "numeric", month: "short" } as const;
const clockFormat = { hour: "numeric", minute: "2-digit" } as const;
const longDate = new Intl.DateTimeFormat(undefined, { dateStyle: "long", timeZone: "UTC" });

export function describeTimes({ times }: Pick<ScheduleView, "times">): string {
  if ("date" in times)
    return texts.when.once(longDate.format(Date.parse(times.date)), formatClock(times.at));
  if ("everyMinutes" in times) {
    const { count, unit } = splitInterval(times.everyMinutes);
    return texts.when.every(count, unit);
  }
  if ("cron" in times) return texts.when.cron(times.cron);
  const dayList = times.days.join(" ");
  const days =
    times.days.length === 7
      ? texts.when.daily
      : dayList === "mon tue wed thu fri"
        ? texts.when.weekdays
        : dayList === "sat sun"
          ? texts.when.weekend
          : texts.when.on(
              times.days.map((day) => texts.days[day][times.days.length === 1 ? 1 : 0]),
            );
  return texts.when.at(days, times.at.map(formatClock));
}

/** A time of day like `08:00`, as people here write it. */
function formatClock(time: string): string {
  return formatIn(Date.parse(`1970-01-01T${time}Z`), "UTC", clockFormat);
}

export function localTimeZone(): string {
  return new Intl.DateTimeFormat().resolvedOptions().timeZone;
}

/** In the person's time zone, and in the schedule's if the clocks differ. */
export function describeNext(
  { nextAt, timeZone, state }: ScheduleView,
  zone = localTimeZone(),
): string {
  if (nextAt === null) return state === "off" ? texts.paused : texts.over;
  const local = formatMoment(nextAt, zone);
  const inZone = formatMoment(nextAt, timeZone);
  if (local === inZone) return local;
  const isSameDay = formatIn(nextAt, zone, dayFormat) === formatIn(nextAt, timeZone, dayFormat);
  const shown = isSameDay ? formatIn(nextAt, timeZone, clockFormat) : inZone;
  return texts.nextInZone(local, shown, timeZone);
}

/** What was spent of the limit in this period, and until when nothing begins if that is all of it. */
export function describeSpending({ spendLimit, spending }: ScheduleView): string {
  if (spendLimit == null || spending === undefined) return "";
  const { spentMicros, until } = spending;
  const { costMicros, per } = spendLimit;
  const isReached = spentMicros >= costMicros;
  const t = texts.spending;
  const spent = t.spent(spentMicros, costMicros, texts.form.limitPer[per]);
  return isReached ? t.reached(spent, formatMoment(until, localTimeZone())) : spent;
}

export function formatMoment(at: number, timeZone: string): string {
  return formatIn(at, timeZone, { ...dayFormat, ...clockFormat });
}

function formatIn(at: number, timeZone: string, options: Intl.DateTimeFormatOptions): string {
  try {
    return new Intl.DateTimeFormat(undefined, { ...options, timeZone }).format(at);
  } catch {
    // The host may know newer time zones than this browser.
    return new Intl.DateTimeFormat(undefined, options).format(at);
  }
}

export function describeOutcome({ outcome, occurrence, at }: OccurrenceOutcome): string {
  const known: Readonly<Record<string, string>> = texts.outcome;
  const outcomeText = known[outcome] ?? texts.refused(outcome);
  const moment =
    occurrence === "now"
      ? `${formatMoment(at, localTimeZone())}, ${texts.byHand}`
      : formatMoment(Date.parse(`${occurrence.slice(0, 16)}:00Z`), "UTC");
  return texts.occurrence(moment, outcomeText);
}

export function isFailedOutcome({ outcome }: OccurrenceOutcome): boolean {
  return outcome !== "accepted" && outcome !== "skipped";
}

/** Why the host refused the schedule, with the form's labels for the invalid fields. */
export function describeRefusal(error: ApiError): string {
  const fieldErrors = error.kind === "problem" ? (error.problem.errors ?? []) : [];
  if (fieldErrors.length === 0) return problemText(error);
  const names: Readonly<Record<string, string>> = texts.fields;
  return fieldErrors
    .map(({ path, message }) => {
      const [field = ""] = path.split(".");
      return texts.invalidField(names[field] ?? path, message);
    })
    .join(" ");
}
