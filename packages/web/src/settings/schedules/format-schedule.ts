import type { ApiError } from "@holdfast/client";
import type { ScheduleView } from "@holdfast/protocol";
import { sentenceOf } from "../../app-context.ts";
import { words } from "../../strings/strings.ts";

type Happened = ScheduleView["recent"][number];

const w = words.schedules;
const inDay = { weekday: "short", day: "numeric", month: "short" } as const;
const inClock = { hour: "2-digit", minute: "2-digit" } as const;
const longDate = new Intl.DateTimeFormat(undefined, { dateStyle: "long", timeZone: "UTC" });

export function whenInWords({ times }: Pick<ScheduleView, "times">): string {
  if ("date" in times) return w.when.once(longDate.format(Date.parse(times.date)), times.at);
  const named = times.days.join(" ");
  const days =
    times.days.length === 7
      ? w.when.daily
      : named === "mon tue wed thu fri"
        ? w.when.weekdays
        : named === "sat sun"
          ? w.when.weekend
          : w.when.on(times.days.map((day) => w.days[day][times.days.length === 1 ? 1 : 0]));
  return w.when.at(days, times.at);
}

export function ownZone(): string {
  return new Intl.DateTimeFormat().resolvedOptions().timeZone;
}

/** By the person's clock, and by the schedule's where that shows something else. */
export function nextInWords({ nextAt, timeZone, state }: ScheduleView, zone = ownZone()): string {
  if (nextAt === null) return state === "off" ? w.paused : w.over;
  const here = momentIn(nextAt, zone);
  const there = momentIn(nextAt, timeZone);
  if (here === there) return here;
  const isSameDay = formatIn(nextAt, zone, inDay) === formatIn(nextAt, timeZone, inDay);
  const shown = isSameDay ? formatIn(nextAt, timeZone, inClock) : there;
  return w.nextThere(here, shown, timeZone);
}

function momentIn(at: number, timeZone: string): string {
  return formatIn(at, timeZone, { ...inDay, ...inClock });
}

function formatIn(at: number, timeZone: string, how: Intl.DateTimeFormatOptions): string {
  try {
    return new Intl.DateTimeFormat(undefined, { ...how, timeZone }).format(at);
  } catch {
    // A zone that this browser does not know: the host's may be newer.
    return new Intl.DateTimeFormat(undefined, how).format(at);
  }
}

export function outcomeInWords({ outcome, occurrence, at }: Happened): string {
  const known: Readonly<Record<string, string>> = w.outcome;
  const told = known[outcome] ?? w.refused(outcome);
  const moment =
    occurrence === "now"
      ? `${momentIn(at, ownZone())}, ${w.byHand}`
      : momentIn(Date.parse(`${occurrence}:00Z`), "UTC");
  return w.happened(moment, told);
}

export function isTrouble({ outcome }: Happened): boolean {
  return outcome !== "accepted" && outcome !== "skipped";
}

/** Why it was not taken, with the form's own names for what is wrong. */
export function refusalInWords(error: ApiError): string {
  const wrong = error.kind === "problem" ? (error.problem.errors ?? []) : [];
  if (wrong.length === 0) return sentenceOf(error);
  const names: Readonly<Record<string, string>> = w.fields;
  return wrong
    .map(({ path, message }) => {
      const [field = ""] = path.split(".");
      return w.wrong(names[field] ?? path, message);
    })
    .join(" ");
}
