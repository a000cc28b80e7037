import {
  formatDollars,
  type SpendLimitView,
  type AlternativeView,
  modeWords,
  type RunView,
  type ScheduleTimes,
  type ScheduleView,
  type SessionMode,
  type Source,
} from "@holdfast/protocol";

const retryCauses: Readonly<Record<string, string>> = {
  model_overloaded: "The provider is busy.",
  model_unavailable: "The provider could not answer.",
  model_unreachable: "The provider cannot be reached.",
  model_silent: "The provider stopped responding.",
  model_cut: "The answer broke off.",
  model_garbled: "The provider's answer could not be read.",
};

/** Why nothing comes while a run is live: the model failed transiently and will be called again. */
export function describeRetry(run: Pick<RunView, "state" | "cause">): string | null {
  const cause = describeRetryCause(run);
  return cause === null ? null : `${cause} Retrying soon.`;
}

/** The same where the time of the next try is shown beside it. */
export function describeRetryCause({
  state,
  cause,
}: Pick<RunView, "state" | "cause">): string | null {
  if (state !== "running" || cause === null) return null;
  return retryCauses[cause] ?? "The model failed.";
}

const maxCitedSources = 20;

/** What an answer rests on: the pages that it links to, or all that its tools found if it links to none of them. */
export function citedSources(found: Iterable<Source>, answer: string): readonly Source[] {
  const all = [...new Map([...found].toReversed().map((each) => [each.url, each])).values()];
  all.reverse();
  const linked = all.filter(({ url }) => answer.includes(url.replace(/\/$/, "")));
  return (linked.length > 0 ? linked : all).slice(0, maxCitedSources);
}

const workdays = "mon tue wed thu fri";

/** `Morning: weekdays 08:00 (Europe/Berlin)`, and anything else worth knowing. */
export function describeSchedule(schedule: ScheduleView): string {
  const { title, times, timeZone, state, last, nextAt, maker, report } = schedule;
  const off = state === "off" ? ", off" : nextAt === null ? ", over" : "";
  const trouble =
    last === null || normalOutcomes.has(last.outcome) ? "" : `, last time: ${last.outcome}`;
  const changes = report === "changes" ? ", only changes" : "";
  const made = maker === undefined ? "" : `, made by ${maker.lane}`;
  const spent = describeSpending(schedule);
  return `${title}: ${describeTimes(times)} (${timeZone})${off}${changes}${spent}${trouble}${made}`;
}

/** `, $1.20 of $5.00 per month, limit reached`. */
function describeSpending({ spendLimit, spending }: ScheduleView): string {
  if (spendLimit == null || spending === undefined) return "";
  const { costMicros, per } = spendLimit;
  const reached = spending.spentMicros >= costMicros ? ", limit reached" : "";
  return `, ${formatDollars(spending.spentMicros)} of ${formatDollars(costMicros)} per ${per}${reached}`;
}

const normalOutcomes: ReadonlySet<string> = new Set(["accepted", "skipped"]);

function describeTimes(times: ScheduleTimes): string {
  if ("date" in times) return `${times.date} ${times.at}`;
  if ("everyMinutes" in times) return describeInterval(times.everyMinutes);
  if ("cron" in times) return `cron ${times.cron}`;
  const days = times.days.join(" ");
  const dayText = times.days.length === 7 ? "daily" : days === workdays ? "weekdays" : days;
  return `${dayText} ${times.at.join(", ")}`;
}

/** `every 2 hours`, `every day` */
function describeInterval(everyMinutes: number): string {
  const [count, unit] =
    everyMinutes % 1_440 === 0
      ? [everyMinutes / 1_440, "day"]
      : everyMinutes % 60 === 0
        ? [everyMinutes / 60, "hour"]
        : [everyMinutes, "minute"];
  return count === 1 ? `every ${unit}` : `every ${count} ${unit}s`;
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

/** `2  Say it shorter → A holdfast is… (shown)`: one line for each version, numbered through, and where turns end. */
export function describeAlternatives(
  turns: readonly { readonly alternatives: readonly AlternativeView[] }[],
): readonly (readonly string[])[] {
  let number = 0;
  return turns.map(({ alternatives }) =>
    alternatives.map(({ text, answer, inView }) => {
      number += 1;
      const shown = inView ? " (shown)" : "";
      return `${number}  ${beginningOf(text)} → ${beginningOf(answer)}${shown}`;
    }),
  );
}

/** Whole characters, so that nothing is cut inside one. */
const beginning = /^.{0,59}/u;

function beginningOf(text: string): string {
  const line = text.replaceAll(/\s+/g, " ").trim();
  const [start = ""] = beginning.exec(line) ?? [];
  return start === line ? line : `${start}…`;
}

const limitNames: Readonly<Record<SpendLimitView["scope"], string>> = {
  run: "One answer",
  session: "This conversation",
  day: "Last 24 hours",
};

/** `This conversation: $1.20 of $2.00`. */
export function describeSpendLimit({ scope, limitMicros, spentMicros }: SpendLimitView): string {
  const spent = spentMicros === null ? null : formatDollars(spentMicros);
  const name = scope === "session" && spent === null ? "One conversation" : limitNames[scope];
  if (limitMicros === null)
    return spent === null ? `${name}: no limit` : `${name}: ${spent}, no limit`;
  const limit = formatDollars(limitMicros);
  return spent === null ? `${name}: at most ${limit}` : `${name}: ${spent} of ${limit}`;
}
