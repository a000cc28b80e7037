import {
  type Admission,
  admitMessage,
  type Log,
  type Runner,
  type Clock,
  StoreFailure,
  systemClock,
} from "@holdfast/engine";
import {
  type IdSource,
  type LaneKey,
  type OwnerId,
  type SessionId,
  ids as systemIds,
  ownerId,
} from "@holdfast/protocol";
import {
  type Schedule,
  type OccurrenceOutcome,
  type StoredSchedule,
  ScheduleStore,
  withOutcome,
} from "./schedule-store.ts";
import { newestBetween, type Occurrence } from "./occurrences.ts";
import { sessionForLane } from "../../gateway/lane-session.ts";

export interface SubmitPromptDeps {
  readonly log: Log;
  readonly ids: IdSource;
  readonly runner: Pick<Runner, "notify">;
  /** The session that a lane points at, made where there is none: by two who ask for the same, once. */
  readonly sessionFor: (owner: OwnerId, lane: LaneKey, key: string) => Promise<SessionId>;
}

export interface PromptSource {
  /** Names the message for good: the store takes a name once. */
  readonly key: string;
  /** Tells the model why this is said. */
  readonly heading: string;
}

interface SubmittedPrompt {
  readonly session: SessionId;
  readonly admission: Admission;
}

/** Says a schedule's prompt where it is to be said, and lets it run. */
export async function submitPrompt(
  { log, ids, runner, sessionFor }: SubmitPromptDeps,
  owner: OwnerId,
  { prompt, target }: Pick<Schedule, "prompt" | "target">,
  { key, heading }: PromptSource,
): Promise<SubmittedPrompt> {
  const lane = "lane" in target ? target.lane : undefined;
  const session = "lane" in target ? await sessionFor(owner, target.lane, key) : target.sessionId;
  const admission = await admitMessage(log, ids, {
    owner,
    session,
    clientId: key,
    text: `[${heading}]\n\n${prompt}`,
    ...(lane !== undefined && { lane, inbound: { key } }),
  });
  if (admission.status === "accepted") runner.notify(owner, session);
  return { session, admission };
}

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

/** Who says prompts at their times on this store, beside whichever other host does. */
export function openScheduler(
  log: Log,
  runner: Pick<Runner, "notify">,
  report: (bug: Error) => void,
): Scheduler {
  const { store } = log;
  return createScheduler({
    log,
    ids: systemIds,
    clock: systemClock,
    owner: ownerId.parse("owner"),
    store: new ScheduleStore(store.register, () => store.now()),
    runner,
    sessionFor: (owner, lane, key) => sessionForLane({ log, owner }, lane, key),
    report,
  });
}
