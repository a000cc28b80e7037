import {
  type LaneKey,
  type ScheduleBody,
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
  readonly repeat: "weekly" | "once";
  readonly days: readonly Weekday[];
  readonly at: readonly string[];
  readonly date: string;
  readonly timeZone: string;
  /** A lane, a session, or `own` for a session that is yet to be created. */
  readonly where: string;
  readonly missed: "skip" | "once";
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
    timeZone,
    where: "own",
    missed: "skip",
  };
}

export function draftFromSchedule(schedule: ScheduleView, today: string): ScheduleDraft {
  const { prompt, title, times, timeZone, target, missed } = schedule;
  const where = "lane" in target ? target.lane : target.sessionId;
  const common = { ...emptyDraft(timeZone, today), prompt, title, where, missed };
  return "date" in times
    ? { ...common, repeat: "once", date: times.date, at: [times.at] }
    : { ...common, repeat: "weekly", days: times.days, at: times.at };
}

export type DraftResult =
  | { readonly kind: "missing"; readonly field: "prompt" | "days" | "times" }
  | { readonly kind: "complete"; readonly body: Omit<ScheduleBody, "target"> };

/** The body of the request. The host validates it; this only reports what is plainly missing. */
export function draftToBody(draft: ScheduleDraft): DraftResult {
  const { days, date, timeZone, missed } = draft;
  const prompt = draft.prompt.trim();
  if (prompt === "") return { kind: "missing", field: "prompt" };
  const at = [...new Set(draft.at.filter((time) => time !== ""))].toSorted();
  const [first] = at;
  if (first === undefined || (draft.repeat === "once" && date === ""))
    return { kind: "missing", field: "times" };
  const title = draft.title.trim() === "" ? titleFrom(prompt) : draft.title.trim();
  const common = { prompt, title, timeZone: timeZone.trim(), missed };
  if (draft.repeat === "once")
    return { kind: "complete", body: { ...common, times: { date, at: first } } };
  if (days.length === 0) return { kind: "missing", field: "days" };
  const ordered = weekdays.filter((day) => days.includes(day));
  return { kind: "complete", body: { ...common, times: { days: ordered, at } } };
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
