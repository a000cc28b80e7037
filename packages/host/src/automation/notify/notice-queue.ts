import { z } from "zod";
import type { Holder, Liveness, Register } from "@holdfast/engine";
import { holderSchema } from "@holdfast/store/identity";
import { type Attention, attention } from "./attention.ts";
import { backoffMs, type OwnerId } from "@holdfast/protocol";

const pendingNotice = attention.extend({ tries: z.int(), retryAt: z.int() });
export type PendingNotice = z.infer<typeof pendingNotice>;

/** All notification state, in one row of the register that hosts change with compare-and-set. */
export const noticeState = z.object({
  /** Everything before this time was queued or is ignored. */
  from: z.int(),
  owed: z.array(pendingNotice),
  /** Ids queued so recently that a scan may find them again, with their times. */
  taken: z.array(z.tuple([z.string(), z.int()])),
  /** When each once-a-day notice was last queued. */
  once: z.record(z.string(), z.int()),
  /** The host that is sending at this moment. */
  sender: z.object({ holder: holderSchema, until: z.int() }).nullable(),
});
export type NoticeState = z.infer<typeof noticeState>;

/** A commit gets its time before it becomes visible: after this long, everything of a given time is visible. */
const overlapMs = 30_000;
const dayMs = 24 * 3_600_000;
/** Keeps the row within the register's size limit. What does not fit stays in the log until there is room. */
const maxPending = 24;
const maxTaken = 120;
const idleAdvanceMs = 600_000;
/** Longer than one request can take. */
const senderLeaseMs = 30_000;
const retryBackoff = { firstMs: 1_000, longestMs: 1_800_000 };

export function emptyNoticeState(now: number): NoticeState {
  return { from: now, owed: [], taken: [], once: {}, sender: null };
}

/**
 * Corrects the state after the clock was set back: a clock that was far ahead must not delay notices until the
 * time it showed.
 */
export function clampToClock(state: NoticeState, now: number): NoticeState {
  if (state.from <= now + overlapMs) return state;
  const owed = state.owed.map((notice) => ({
    ...notice,
    at: Math.min(notice.at, now),
    retryAt: Math.min(notice.retryAt, now),
  }));
  return { ...state, from: now - overlapMs, owed, once: {}, sender: null };
}

export interface EnqueueResult {
  /** `null`: nothing to write. */
  readonly state: NoticeState | null;
  /** Whether something did not fit. */
  readonly rest: "some" | "none";
}

export function enqueueNotices(
  state: NoticeState,
  found: readonly Attention[],
  scannedAt: number,
): EnqueueResult {
  const queuedIds = new Set(state.taken.map(([id]) => id));
  const fresh: Attention[] = [];
  const once = { ...state.once };
  const room = Math.min(maxPending - state.owed.length, maxTaken - state.taken.length);
  const ordered = found
    .filter(({ id, at }) => at >= state.from && !queuedIds.has(id))
    .toSorted((a, b) => a.at - b.at);
  let leftOver: Attention | undefined;
  for (const candidate of ordered) {
    const key = dailyKey(candidate);
    if (key !== null && candidate.at - (once[key] ?? Number.NEGATIVE_INFINITY) < dayMs) continue;
    if (fresh.length >= room) {
      leftOver = candidate;
      break;
    }
    fresh.push(candidate);
    if (key !== null) once[key] = candidate.at;
  }
  const rest = leftOver === undefined ? "none" : "some";
  // The first one left over is the oldest: everything before it was queued.
  const from = Math.max(state.from, Math.min(leftOver?.at ?? scannedAt, scannedAt - overlapMs));
  const step = rest === "some" ? 1 : idleAdvanceMs;
  if (fresh.length === 0 && from - state.from < step) return { state: null, rest };
  const recent = [...state.taken, ...fresh.map(({ id, at }): [string, number] => [id, at])];
  const taken = recent.filter(([, at]) => at >= from);
  const owed = [...state.owed, ...fresh.map((notice) => ({ ...notice, tries: 0, retryAt: 0 }))];
  return { state: { ...state, from, once, taken, owed }, rest };
}

/** Key for notices that every following run would repeat. */
function dailyKey({ type, cause }: Attention): string | null {
  if (type === "memory_stuck") return type;
  return cause === "spend_day" ? cause : null;
}

export interface Claim {
  readonly state: NoticeState;
  readonly item: PendingNotice;
}

/**
 * Lets one host send at a time. The attempt is counted before it is made, so that a crash during it does not retry
 * at once.
 */
export function claimNext(
  state: NoticeState,
  now: number,
  holder: Holder,
  liveness: Liveness,
): Claim | null {
  const { sender } = state;
  const isHeldByOther =
    sender !== null && sender.holder.nonce !== holder.nonce && sender.until > now;
  if (isHeldByOther && liveness.isDead(sender.holder) !== "dead") return null;
  const [item] = state.owed
    .filter(({ retryAt }) => retryAt <= now)
    .toSorted((a, b) => a.retryAt - b.retryAt || a.at - b.at);
  if (item === undefined) return null;
  const retryAt = now + backoffMs(retryBackoff, item.tries);
  const attempted = { ...item, tries: item.tries + 1, retryAt };
  return {
    item: attempted,
    state: {
      ...state,
      owed: state.owed.map((notice) => (notice.id === item.id ? attempted : notice)),
      sender: { holder, until: now + senderLeaseMs },
    },
  };
}

export function isExpired({ at }: Attention, now: number): boolean {
  return now - at > dayMs;
}

/** `retry`: it stays queued for the time that the claim has set. */
export function settleNotice(
  state: NoticeState,
  id: string,
  outcome: "done" | "retry",
): NoticeState {
  const others = state.owed.filter((notice) => notice.id !== id);
  return { ...state, sender: null, owed: outcome === "done" ? others : state.owed };
}

const registerKey = "notify";
const maxAttempts = 20;

export type NoticeChange =
  | { readonly status: "changed"; readonly state: NoticeState }
  /** There was nothing to change. */
  | { readonly status: "unchanged" }
  /** The store failed; the change is still to be made. */
  | { readonly status: "failed" };

/** The row that all hosts of a store share. */
export class NoticeStore {
  readonly #register: Register;
  readonly #owner: OwnerId;

  constructor(register: Register, owner: OwnerId) {
    this.#register = register;
    this.#owner = owner;
  }

  async read(): Promise<NoticeState | null> {
    return decodeNoticeState((await this.#register.read(this.#owner, registerKey))?.value);
  }

  /** Applied to the state at the moment of writing; `null` leaves it unchanged. */
  async change(apply: (state: NoticeState | null) => NoticeState | null): Promise<NoticeChange> {
    for (let attempt = 0; attempt < maxAttempts; attempt += 1) {
      const row = await this.#register.read(this.#owner, registerKey);
      const state = apply(decodeNoticeState(row?.value));
      if (state === null) return { status: "unchanged" };
      const change = { owner: this.#owner, key: registerKey, expect: row?.revision ?? 0 };
      const result = await this.#register.put({ ...change, value: JSON.stringify(state) });
      if (result.status === "put") return { status: "changed", state };
      if (result.status === "failed") return { status: "failed" };
    }
    return { status: "failed" };
  }
}

/** Unreadable state starts over from now, instead of reporting all of history. */
function decodeNoticeState(value: string | undefined): NoticeState | null {
  if (value === undefined) return null;
  try {
    return noticeState.parse(JSON.parse(value));
  } catch {
    return null;
  }
}
