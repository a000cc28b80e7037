import type { ApiError } from "@holdfast/client";
import type { ScheduleView } from "@holdfast/protocol";
import { problemText } from "../../app-context.ts";
import { strings } from "../../strings/strings.ts";

type OccurrenceOutcome = ScheduleView["recent"][number];

const texts = strings.schedules;
const dayFormat = { weekday: "short", day: "numeric", month: "short" } as const;
const clockFormat = { hour: "2-digit", minute: "2-digit" } as const;
const longDate = new Intl.DateTimeFormat(undefined, { dateStyle: "long", timeZone: "UTC" });

export function describeTimes({ times }: Pick<ScheduleView, "times">): string {
  if ("date" in times) return texts.when.once(longDate.format(Date.parse(times.date)), times.at);
  const named = times.days.join(" ");
  const days =
    times.days.length === 7
      ? texts.when.daily
      : named === "mon tue wed thu fri"
        ? texts.when.weekdays
        : named === "sat sun"
          ? texts.when.weekend
          : texts.when.on(
              times.days.map((day) => texts.days[day][times.days.length === 1 ? 1 : 0]),
            );
  return texts.when.at(days, times.at);
}

export function localTimeZone(): string {
  return new Intl.DateTimeFormat().resolvedOptions().timeZone;
}

/** By the person's clock, and by the schedule's where that shows something else. */
export function describeNext(
  { nextAt, timeZone, state }: ScheduleView,
  zone = localTimeZone(),
): string {
  if (nextAt === null) return state === "off" ? texts.paused : texts.over;
  const here = formatMoment(nextAt, zone);
  const there = formatMoment(nextAt, timeZone);
  if (here === there) return here;
  const isSameDay = formatIn(nextAt, zone, dayFormat) === formatIn(nextAt, timeZone, dayFormat);
  const shown = isSameDay ? formatIn(nextAt, timeZone, clockFormat) : there;
  return texts.nextThere(here, shown, timeZone);
}

function formatMoment(at: number, timeZone: string): string {
  return formatIn(at, timeZone, { ...dayFormat, ...clockFormat });
}

function formatIn(at: number, timeZone: string, how: Intl.DateTimeFormatOptions): string {
  try {
    return new Intl.DateTimeFormat(undefined, { ...how, timeZone }).format(at);
  } catch {
    // A zone that this browser does not know: the host's may be newer.
    return new Intl.DateTimeFormat(undefined, how).format(at);
  }
}

export function describeOutcome({ outcome, occurrence, at }: OccurrenceOutcome): string {
  const known: Readonly<Record<string, string>> = texts.outcome;
  const told = known[outcome] ?? texts.refused(outcome);
  const moment =
    occurrence === "now"
      ? `${formatMoment(at, localTimeZone())}, ${texts.byHand}`
      : formatMoment(Date.parse(`${occurrence}:00Z`), "UTC");
  return texts.happened(moment, told);
}

export function isFailedOutcome({ outcome }: OccurrenceOutcome): boolean {
  return outcome !== "accepted" && outcome !== "skipped";
}

/** Why it was not taken, with the form's own names for what is wrong. */
export function describeRefusal(error: ApiError): string {
  const wrong = error.kind === "problem" ? (error.problem.errors ?? []) : [];
  if (wrong.length === 0) return problemText(error);
  const names: Readonly<Record<string, string>> = texts.fields;
  return wrong
    .map(({ path, message }) => {
      const [field = ""] = path.split(".");
      return texts.wrong(names[field] ?? path, message);
    })
    .join(" ");
}
