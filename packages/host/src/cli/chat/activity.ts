const frames = ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"] as const;

/** How often the spinner moves. */
export const spinnerMs = 100;

const format = (unit: "hour" | "minute" | "second"): Intl.NumberFormat =>
  new Intl.NumberFormat("en", { style: "unit", unit, unitDisplay: "narrow" });
const hours = format("hour");
const minutes = format("minute");
const seconds = format("second");

/** `8s`, `1m 12s`. */
export function formatElapsed(ms: number): string {
  const total = Math.max(0, Math.floor(ms / 1000));
  return [
    ...(total >= 3600 ? [hours.format(Math.floor(total / 3600))] : []),
    ...(total >= 60 ? [minutes.format(Math.floor(total / 60) % 60)] : []),
    seconds.format(total % 60),
  ].join(" ");
}

/** The text after a turning mark, with the time since the work began. */
export function activityText(text: string, elapsedMs: number): string {
  const frame = frames[Math.floor(Math.max(0, elapsedMs) / spinnerMs) % frames.length];
  return `${frame} ${text} ${formatElapsed(elapsedMs)}`;
}
