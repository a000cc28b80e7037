import type { Egress } from "../../../util/egress/egress.ts";
import type { SendResult, PlatformFailure } from "../../adapter.ts";

type EgressResult = Awaited<ReturnType<Egress["request"]>>;

/** A receiver that says so for good; whatever else it says may be put right there, within a day. */
const finalStatuses: ReadonlySet<number> = new Set([400, 410, 413, 415, 422]);
/** Where the request may have arrived before something went wrong. */
const ambiguousFailures: ReadonlySet<string> = new Set(["connection", "time", "cancelled"]);
const maxRetryAfterMs = 60 * 60_000;

/** What became of something that was posted to a hook's address. */
export function toSendResult(answer: EgressResult, id: string, now: number): SendResult {
  if (!answer.ok) {
    const { code, message: message } = answer.refusal;
    if (ambiguousFailures.has(code)) return { status: "unknown", code: `egress_${code}`, message };
    return retryLater(`egress_${code}`, message, 0);
  }
  const { status, headers } = answer.value;
  if (status >= 200 && status < 300) return { status: "sent", platformId: id };
  const [code, message] = [`http_${status}`, `It answered ${status}.`];
  if (finalStatuses.has(status)) return { status: "refused", code, message };
  return retryLater(code, message, parseRetryAfter(headers["retry-after"], now));
}

/** Only this hook's receiver: nobody else has to wait for it. */
function retryLater(code: string, message: string, afterMs: number): PlatformFailure {
  return { status: "later", afterMs, isAway: false, code, message };
}

/** In seconds, or as a date. */
function parseRetryAfter(given: unknown, now: number): number {
  if (typeof given !== "string") return 0;
  const ms = /^\d{1,9}$/.test(given) ? Number(given) * 1_000 : Date.parse(given) - now;
  return Number.isNaN(ms) ? 0 : Math.min(Math.max(0, ms), maxRetryAfterMs);
}
