import type { Egress } from "../../../util/egress/egress.ts";
import type { Sent, Trouble } from "../../adapter.ts";

type Answered = Awaited<ReturnType<Egress["request"]>>;

/** A receiver that says so for good; whatever else it says may be put right there, within a day. */
const final: ReadonlySet<number> = new Set([400, 410, 413, 415, 422]);
/** Where the request may have arrived before something went wrong. */
const unsure: ReadonlySet<string> = new Set(["connection", "time", "cancelled"]);
const longestAskedMs = 60 * 60_000;

/** What became of something that was posted to a hook's address. */
export function sentOf(answer: Answered, id: string, now: number): Sent {
  if (!answer.ok) {
    const { code, words: message } = answer.refusal;
    if (unsure.has(code)) return { status: "unknown", code: `egress_${code}`, message };
    return later(`egress_${code}`, message, 0);
  }
  const { status, headers } = answer.value;
  if (status >= 200 && status < 300) return { status: "sent", platformId: id };
  const [code, message] = [`http_${status}`, `It answered ${status}.`];
  if (final.has(status)) return { status: "refused", code, message };
  return later(code, message, askedPause(headers["retry-after"], now));
}

/** Only this hook's receiver: nobody else has to wait for it. */
function later(code: string, message: string, afterMs: number): Trouble {
  return { status: "later", afterMs, isAway: false, code, message };
}

/** In seconds, or as a date. */
function askedPause(given: unknown, now: number): number {
  if (typeof given !== "string") return 0;
  const ms = /^\d{1,9}$/.test(given) ? Number(given) * 1_000 : Date.parse(given) - now;
  return Number.isNaN(ms) ? 0 : Math.min(Math.max(0, ms), longestAskedMs);
}
