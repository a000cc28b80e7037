import { type Clock, StoreFailure } from "@holdfast/engine";
import type { OwnerId } from "@holdfast/protocol";

import {
  type OccurrenceOutcome,
  type StoredSchedule,
  type ScheduleStore,
  type Schedule,
  withOutcome,
} from "./schedule-store.ts";
import { newestBetween, type Occurrence } from "./schedules-occurrences.ts";
import { type SubmitPromptDeps, submitPrompt } from "./scheduler.ts";

export interface SchedulerDeps extends SubmitPromptDeps {
  readonly clock: Clock;
  readonly owner: OwnerId;
  readonly store: ScheduleStore;
  readonly report: (bug: Error) => void;
  readonly pollMs?: number;
}

export interface Scheduler {
  start(): void;
  stop(): Promise<void>;
}

/** So late it may be without having been missed: a host that is slow, or was just started again. */
const graceMs = 120_000;
const defaultPollMs = 5_000;

/**
 * Says prompts at their times. The occurrence names the message, and the store takes a name once: so whoever looks, however
 * many hosts there are and wherever one of them is killed, each occurrence is at most one run. What a schedule has behind it
 * is written down after that, and only spares the next look.
 */
export function createScheduler(parts: SchedulerDeps): Scheduler {
  const { clock } = parts;
  const stopping = new AbortController();
  const { signal } = stopping;
  let working: Promise<void> = Promise.resolve();

  async function work(): Promise<void> {
    while (!signal.aborted) {
      try {
        await submitDuePrompts(parts, signal);
      } catch (error) {
        // That the store is away is told by who watches it.
        if (!(error instanceof StoreFailure))
          parts.report(error instanceof Error ? error : new Error(String(error)));
      }
      await clock.sleep(parts.pollMs ?? defaultPollMs, signal);
    }
  }

  return {
    start() {
      working = work();
    },
    async stop() {
      stopping.abort();
      await working;
    },
  };
}

/** One look at all of them. What keeps one of them from being said keeps no other. */
export async function submitDuePrompts(parts: SchedulerDeps, signal?: AbortSignal): Promise<void> {
  const { log, store: kept, owner, report } = parts;
  const now = await log.store.now();
  let away: StoreFailure | undefined;
  for (const each of await kept.list(owner)) {
    if (signal?.aborted === true) return;
    try {
      if (each.schedule.state === "on") await submitDue(parts, each, now);
    } catch (error) {
      if (error instanceof StoreFailure) away ??= error;
      else report(new Error(`The schedule ${each.schedule.id} was not said.`, { cause: error }));
    }
  }
  if (away !== undefined) throw away;
}

async function submitDue(parts: SchedulerDeps, found: StoredSchedule, now: number): Promise<void> {
  const { schedule } = found;
  if (schedule.from > now + graceMs) return rewindToNow(parts, found, now);
  const due = newestBetween(schedule, schedule.from, now);
  const newest = due.at(-1);
  if (newest === undefined) return;
  let happened: OccurrenceOutcome[] = [];
  for (const each of occurrencesToSubmit(schedule, due, now)) {
    const said = await submitOccurrence(parts, schedule, each);
    // What the store could not take is still due.
    if (said === "later") return;
    happened.push({ occurrence: each.name, at: now, ...said });
  }
  if (happened.length === 0) happened = [{ occurrence: newest.name, at: now, outcome: "skipped" }];
  await parts.store.advance({
    ...found,
    schedule: withOutcome({ ...schedule, from: newest.at }, ...happened),
  });
}

/** The clock was ahead and is put right: what it was ahead of is still to come, and what was said then has its name for good. */
async function rewindToNow(
  { store: kept }: SchedulerDeps,
  found: StoredSchedule,
  now: number,
): Promise<void> {
  await kept.advance({ ...found, schedule: { ...found.schedule, from: now - graceMs } });
}

/** Those that are on time; of those that were missed none, or the newest where nothing newer is said anyway. */
function occurrencesToSubmit(
  { missed }: Schedule,
  due: readonly Occurrence[],
  now: number,
): readonly Occurrence[] {
  const onTime = due.filter(({ at }) => now - at <= graceMs);
  return onTime.length > 0 || missed === "skip" ? onTime : due.slice(-1);
}

/** `later`: the store could not be asked. Otherwise what became of it, for good. */
async function submitOccurrence(
  parts: SchedulerDeps,
  schedule: Schedule,
  { name }: Occurrence,
): Promise<"later" | Pick<OccurrenceOutcome, "outcome" | "sessionId">> {
  const { session: sessionId, admission } = await submitPrompt(parts, parts.owner, schedule, {
    key: `schedule:${schedule.id}:${name}`,
    heading: `scheduled for ${name.replace("T", " ")}, ${schedule.timeZone}`,
  });
  switch (admission.status) {
    case "accepted":
      return { outcome: "accepted", sessionId };
    case "refused":
      // The lane has moved since another host said it.
      return admission.code === "inbound_taken"
        ? { outcome: "accepted" }
        : { outcome: admission.code };
    case "failed":
      return "later";
  }
}
