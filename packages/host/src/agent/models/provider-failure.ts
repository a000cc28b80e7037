/** Nobody waits longer for a provider within a run. */
const maxRetryAfterMs = 10 * 60_000;

const units: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000 };

/** When a provider wants to be asked again: in milliseconds, in seconds, as a date, or in its message. */
export function retryAfterMs(
  headers: Readonly<Record<string, string>>,
  message: string,
  now: number,
): number | null {
  const wait =
    fromNumber(headers["retry-after-ms"], 1) ??
    fromNumber(headers["retry-after"], 1_000) ??
    fromDate(headers["retry-after"], now) ??
    fromMessage(message);
  return wait === null ? null : Math.min(Math.max(0, Math.ceil(wait)), maxRetryAfterMs);
}

function fromNumber(text: string | undefined, factor: number): number | null {
  return text !== undefined && /^\s*\d+(\.\d+)?\s*$/.test(text) ? Number(text) * factor : null;
}

function fromDate(text: string | undefined, now: number): number | null {
  const at = Date.parse(text ?? "");
  return Number.isNaN(at) ? null : at - now;
}

function fromMessage(message: string): number | null {
  const match = /(?:try again|retry) in (\d+(?:\.\d+)?)\s?(ms|s|m)\b/i.exec(message);
  const unit = units[match?.[2]?.toLowerCase() ?? ""];
  return match === null || unit === undefined ? null : Number(match[1]) * unit;
}
