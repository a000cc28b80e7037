/** Nobody waits longer for a provider within a run. */
const longest = 10 * 60_000;

const units: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000 };

/** When a provider wants to be asked again: in milliseconds, in seconds, as a date, or in its message. */
export function retryAfterMs(
  headers: Readonly<Record<string, string>>,
  message: string,
  now: number,
): number | null {
  const wait =
    asNumber(headers["retry-after-ms"], 1) ??
    asNumber(headers["retry-after"], 1_000) ??
    asDate(headers["retry-after"], now) ??
    inWords(message);
  return wait === null ? null : Math.min(Math.max(0, Math.ceil(wait)), longest);
}

function asNumber(text: string | undefined, factor: number): number | null {
  return text !== undefined && /^\s*\d+(\.\d+)?\s*$/.test(text) ? Number(text) * factor : null;
}

function asDate(text: string | undefined, now: number): number | null {
  const at = Date.parse(text ?? "");
  return Number.isNaN(at) ? null : at - now;
}

function inWords(message: string): number | null {
  const match = /(?:try again|retry) in (\d+(?:\.\d+)?)\s?(ms|s|m)\b/i.exec(message);
  const unit = units[match?.[2]?.toLowerCase() ?? ""];
  return match === null || unit === undefined ? null : Number(match[1]) * unit;
}
