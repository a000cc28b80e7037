const clockFormat = new Intl.DateTimeFormat(undefined, { hour: "numeric", minute: "2-digit" });
const dayAndMonth = new Intl.DateTimeFormat(undefined, {
  weekday: "long",
  day: "numeric",
  month: "long",
});
const shortDay = new Intl.DateTimeFormat(undefined, { day: "numeric", month: "short" });
const fullFormat = new Intl.DateTimeFormat(undefined, { dateStyle: "full", timeStyle: "medium" });
const withYear = new Intl.DateTimeFormat(undefined, { dateStyle: "medium" });

export const formatClock = (at: number): string => clockFormat.format(at);
export const formatMoment = (at: number): string => fullFormat.format(at);

export function formatDay(at: number): string {
  const isThisYear = new Date(at).getFullYear() === new Date().getFullYear();
  return (isThisYear ? dayAndMonth : withYear).format(at);
}

export function formatShortDay(at: number): string {
  const isThisYear = new Date(at).getFullYear() === new Date().getFullYear();
  return (isThisYear ? shortDay : withYear).format(at);
}

/** For lists: the time if it was today, else the day. */
export function formatShortTime(at: number, now: number): string {
  if (daysBetween(at, now) < 1) return clockFormat.format(at);
  return (now - at < 300 * 86_400_000 ? shortDay : withYear).format(at);
}

/** The number of midnights between the two. */
export function daysBetween(at: number, now: number): number {
  const midnight = (time: number): number => new Date(time).setHours(0, 0, 0, 0);
  return Math.round((midnight(now) - midnight(at)) / 86_400_000);
}
