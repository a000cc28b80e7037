import {
  modeWords,
  type RunView,
  type ScheduleTimes,
  type ScheduleView,
  type SessionMode,
} from "@holdfast/protocol";

const retryTexts: Readonly<Record<string, string>> = {
  model_overloaded: "The provider asked to wait; it is asked again soon.",
  model_unavailable: "The provider could not answer; it is asked again soon.",
  model_silent: "The provider fell silent; it is asked again soon.",
};

/** Why nothing comes while a run is live: the model failed transiently and will be called again. */
export function describeRetry({ state, cause }: Pick<RunView, "state" | "cause">): string | null {
  if (state !== "running" || cause === null) return null;
  return retryTexts[cause] ?? "The model failed for a moment; it is asked again soon.";
}

const workdays = "mon tue wed thu fri";

/** `Morning: weekdays 08:00 (Europe/Berlin)`, and anything else worth knowing. */
export function describeSchedule(schedule: ScheduleView): string {
  const { title, times, timeZone, state, last, nextAt } = schedule;
  const off = state === "off" ? ", off" : nextAt === null ? ", over" : "";
  const trouble =
    last === null || normalOutcomes.has(last.outcome) ? "" : `, last time: ${last.outcome}`;
  return `${title}: ${describeTimes(times)} (${timeZone})${off}${trouble}`;
}

const normalOutcomes: ReadonlySet<string> = new Set(["accepted", "skipped"]);

function describeTimes(times: ScheduleTimes): string {
  if ("date" in times) return `${times.date} ${times.at}`;
  const days = times.days.join(" ");
  const dayText = times.days.length === 7 ? "daily" : days === workdays ? "weekdays" : days;
  return `${dayText} ${times.at.join(", ")}`;
}

/** What `/giveup` did, in a sentence. */
export function givenUpText(settled: number): string {
  return settled > 0
    ? "Stopped waiting. Anything that still arrives is added."
    : "There is nothing to wait for.";
}

/** `plan. Only reads, then proposes a plan for you to approve.` */
export function describeMode(mode: SessionMode): string {
  return `${mode}. ${modeWords[mode].help}`;
}
