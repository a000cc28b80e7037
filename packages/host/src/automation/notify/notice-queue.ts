import { z } from "zod";
import type { Holder, Liveness, Register } from "@holdfast/engine";
import { holderSchema } from "@holdfast/store/identity";
import { type Attention, attention } from "./attention.ts";
import type { OwnerId } from "@holdfast/protocol";

const pendingNotice = attention.extend({ tries: z.int(), retryAt: z.int() });
export type PendingNotice = z.infer<typeof pendingNotice>;

/** Everything that is kept about telling, in one row of the register: who changes it says which one they have seen. */
export const noticeState = z.object({
  /** Everything before then was taken up, or is nobody's any more. */
  from: z.int(),
  owed: z.array(pendingNotice),
  /** What was taken up so recently that a look may find it again, with its time. */
  taken: z.array(z.tuple([z.string(), z.int()])),
  /** When that was told last which is told once a day. */
  once: z.record(z.string(), z.int()),
  /** Who is sending at this moment. */
  sender: z.object({ holder: holderSchema, until: z.int() }).nullable(),
});
export type NoticeState = z.infer<typeof noticeState>;

/** A commit gets its time before it can be seen: so much later everything of a time has come to light. */
const overlapMs = 30_000;
const dayMs = 24 * 3_600_000;
/** So that the row stays within what a register takes. What finds no room stays in the log until there is some. */
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
 * What is kept, by a clock that may have been put back since: one that was far ahead must not keep anything from being told
 * until the time has come that it showed.
 */
export function clampToClock(state: NoticeState, now: number): NoticeState {
  if (state.from <= now + overlapMs) return state;
  const owing = state.owed.map((each) => ({
    ...each,
    at: Math.min(each.at, now),
    retryAt: Math.min(each.retryAt, now),
  }));
  return { ...state, from: now - overlapMs, owed: owing, once: {}, sender: null };
}

export interface EnqueueResult {
  /** `null`: there is nothing to write down. */
  readonly state: NoticeState | null;
  /** Whether something found no room. */
  readonly rest: "some" | "none";
}

export function enqueueNotices(
  state: NoticeState,
  found: readonly Attention[],
  lookedAt: number,
): EnqueueResult {
  const known = new Set(state.taken.map(([id]) => id));
  const fresh: Attention[] = [];
  const once = { ...state.once };
  const room = Math.min(maxPending - state.owed.length, maxTaken - state.taken.length);
  const ordered = found
    .filter(({ id, at }) => at >= state.from && !known.has(id))
    .toSorted((a, b) => a.at - b.at);
  let left: Attention | undefined;
  for (const each of ordered) {
    const key = dailyKey(each);
    if (key !== null && each.at - (once[key] ?? Number.NEGATIVE_INFINITY) < dayMs) continue;
    if (fresh.length >= room) {
      left = each;
      break;
    }
    fresh.push(each);
    if (key !== null) once[key] = each.at;
  }
  const rest = left === undefined ? "none" : "some";
  // What is left is the oldest that is: all before it was taken.
  const from = Math.max(state.from, Math.min(left?.at ?? lookedAt, lookedAt - overlapMs));
  const step = rest === "some" ? 1 : idleAdvanceMs;
  if (fresh.length === 0 && from - state.from < step) return { state: null, rest };
  const all = [...state.taken, ...fresh.map(({ id, at }): [string, number] => [id, at])];
  const taken = all.filter(([, at]) => at >= from);
  const owing = [...state.owed, ...fresh.map((each) => ({ ...each, tries: 0, retryAt: 0 }))];
  return { state: { ...state, from, once, taken, owed: owing }, rest };
}

/** Every run that comes after has the same to say. */
function dailyKey({ type, cause }: Attention): string | null {
  if (type === "memory_stuck") return type;
  return cause === "spend_day" ? cause : null;
}

export interface Claim {
  readonly state: NoticeState;
  readonly item: PendingNotice;
}

/** One sender at a time. The try is counted before it is made: whoever dies of it does not begin again at once. */
export function claimNext(
  state: NoticeState,
  now: number,
  me: Holder,
  liveness: Liveness,
): Claim | null {
  const { sender } = state;
  const isOthers = sender !== null && sender.holder.nonce !== me.nonce && sender.until > now;
  if (isOthers && liveness.isDead(sender.holder) !== "dead") return null;
  const [item] = state.owed
    .filter(({ retryAt }) => retryAt <= now)
    .toSorted((a, b) => a.retryAt - b.retryAt || a.at - b.at);
  if (item === undefined) return null;
  const tried = { ...item, tries: item.tries + 1, retryAt: now + retryDelayMs(item.tries) };
  return {
    item: tried,
    state: {
      ...state,
      owed: state.owed.map((each) => (each.id === item.id ? tried : each)),
      sender: { holder: me, until: now + senderLeaseMs },
    },
  };
}

function retryDelayMs(tries: number): number {
  return Math.min(retryBackoff.longestMs, retryBackoff.firstMs * 2 ** Math.min(tries, 20));
}

export function isExpired({ at }: Attention, now: number): boolean {
  return now - at > dayMs;
}

/** `later`: it waits for its time, which the claim has written down. */
export function settleNotice(state: NoticeState, id: string, end: "over" | "later"): NoticeState {
  const others = state.owed.filter((each) => each.id !== id);
  return { ...state, sender: null, owed: end === "over" ? others : state.owed };
}

const registerKey = "notify";
const maxTries = 20;

export type NoticeChange =
  | { readonly status: "changed"; readonly state: NoticeState }
  /** There was nothing to change. */
  | { readonly status: "kept" }
  /** The store took nothing: what was to change is still to be done. */
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

  /** Applied to what stands there at the moment of writing; `null` leaves it. */
  async change(apply: (state: NoticeState | null) => NoticeState | null): Promise<NoticeChange> {
    for (let tries = 0; tries < maxTries; tries += 1) {
      const row = await this.#register.read(this.#owner, registerKey);
      const state = apply(decodeNoticeState(row?.value));
      if (state === null) return { status: "kept" };
      const change = { owner: this.#owner, key: registerKey, expect: row?.revision ?? 0 };
      const result = await this.#register.put({ ...change, value: JSON.stringify(state) });
      if (result.status === "put") return { status: "changed", state };
      if (result.status === "failed") return { status: "failed" };
    }
    return { status: "failed" };
  }
}

/** What cannot be read is begun anew, from now on: nobody is told all of history. */
function decodeNoticeState(value: string | undefined): NoticeState | null {
  if (value === undefined) return null;
  try {
    return noticeState.parse(JSON.parse(value));
  } catch {
    return null;
  }
}
