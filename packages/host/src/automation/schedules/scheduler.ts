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
  type Rights,
  type SessionMode,
  type TaintSource,
  ids as systemIds,
  mergeTaint,
  ownerId,
} from "@holdfast/protocol";
import {
  type Schedule,
  type ScheduleMaker,
  type OccurrenceOutcome,
  type StoredSchedule,
  ScheduleStore,
  withOutcome,
} from "./schedule-store.ts";
import { askForChanges, type LastReport, readLastReport } from "./changes-only.ts";
import { newestBetween, type Occurrence } from "./occurrences.ts";
import type { SpendLimits } from "../../ops/spending/spend-limits.ts";
import { sessionForLane } from "../../gateway/lanes.ts";
import {
  commonRights,
  openRightsResolver,
  type RightsResolver,
} from "../../rights/resolve-rights.ts";

export interface SchedulerDeps extends SubmitPromptDeps {
  readonly clock: Clock;
  readonly owner: OwnerId;
  readonly store: ScheduleStore;
  readonly report: (bug: Error) => void;
  readonly pollMs?: number;
  /** By default no schedule has a limit. */
  readonly spendLimits?: Pick<SpendLimits, "ofSchedule">;
}

export interface Scheduler {
  start(): void;
  stop(): Promise<void>;
}

/** How late an occurrence may be without counting as missed: the host may be slow, or just restarting. */
const graceMs = 120_000;
const defaultPollMs = 5_000;

/** The scheduler for this store, next to those of other hosts. */
export function openScheduler(
  log: Log,
  runner: Pick<Runner, "notify">,
  report: (bug: Error) => void,
  spendLimits: Pick<SpendLimits, "ofSchedule">,
  newSessionMode?: SessionMode,
): Scheduler {
  const { store } = log;
  return createScheduler({
    log,
    ids: systemIds,
    clock: systemClock,
    owner: ownerId.parse("owner"),
    store: new ScheduleStore(store.register, () => store.now()),
    runner,
    sessionFor: (owner, lane, key) => sessionForLane({ log, owner, newSessionMode }, lane, key),
    rights: openRightsResolver(store.register),
    report,
    spendLimits,
  });
}

/**
 * Submits prompts at their times. The occurrence names the message, and the store accepts a name once: each
 * occurrence is at most one run, however many hosts poll and wherever one is killed. The schedule's progress is
 * written after that, and only saves work on the next poll.
 */
export function createScheduler(deps: SchedulerDeps): Scheduler {
  const { clock } = deps;
  const stopping = new AbortController();
  const { signal } = stopping;
  let working: Promise<void> = Promise.resolve();

  async function work(): Promise<void> {
    while (!signal.aborted) {
      try {
        await submitDuePrompts(deps, signal);
      } catch (error) {
        // Store outages are reported elsewhere.
        if (!(error instanceof StoreFailure))
          deps.report(error instanceof Error ? error : new Error(String(error)));
      }
      await clock.sleep(deps.pollMs ?? defaultPollMs, signal);
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

/** Polls all schedules once. A failure of one does not stop the others. */
export async function submitDuePrompts(deps: SchedulerDeps, signal?: AbortSignal): Promise<void> {
  const { log, store, owner, report } = deps;
  const active = (await store.list(owner)).filter(({ schedule }) => schedule.state === "on");
  if (active.length === 0) return;
  const now = await log.store.now();
  let storeFailure: StoreFailure | undefined;
  for (const stored of active) {
    if (signal?.aborted === true) return;
    try {
      await submitDue(deps, stored, now);
    } catch (error) {
      if (error instanceof StoreFailure) storeFailure ??= error;
      else
        report(
          new Error(`The schedule ${stored.schedule.id} was not submitted.`, { cause: error }),
        );
    }
  }
  if (storeFailure !== undefined) throw storeFailure;
}

async function submitDue(deps: SchedulerDeps, stored: StoredSchedule, now: number): Promise<void> {
  const { schedule } = stored;
  if (schedule.from > now + graceMs) return rewindToNow(deps, stored, now);
  const due = newestBetween(schedule, schedule.from, now);
  const newest = due.at(-1);
  if (newest === undefined) return;
  const over = await findOverspending(deps, schedule, now);
  let outcomes: OccurrenceOutcome[] =
    over === "told" ? [{ occurrence: newest.name, at: now, outcome: overLimit }] : [];
  const toSubmit = occurrencesToSubmit(schedule, due, now);
  for (const occurrence of over === "told"
    ? []
    : over === "untold"
      ? toSubmit.slice(-1)
      : toSubmit) {
    const result = await submitOccurrence(deps, schedule, occurrence);
    // Still due: the store could not write it.
    if (result === "later") return;
    const outcome = over === null ? result.outcome : overLimit;
    outcomes.push({ occurrence: occurrence.name, at: now, ...result, outcome });
  }
  if (outcomes.length === 0) outcomes = [{ occurrence: newest.name, at: now, outcome: "skipped" }];
  await deps.store.advance({
    ...stored,
    schedule: withOutcome({ ...schedule, from: newest.at }, ...outcomes),
  });
}

const overLimit = "over_limit";

/**
 * Whether a schedule has spent what it may in this period, so that nothing begins before the next one. `untold`: nobody
 * was told in its conversation yet. One more prompt is then submitted: its run ends before it calls a model, and says
 * so wherever the answers go.
 */
async function findOverspending(
  { log, owner, spendLimits }: SchedulerDeps,
  schedule: Schedule,
  now: number,
): Promise<"told" | "untold" | null> {
  const spending = (await spendLimits?.ofSchedule(owner, schedule)) ?? null;
  if (spending === null || spending.spentMicros < spending.limitMicros) return null;
  const recent = schedule.recent.filter(({ at }) => at >= spending.from && at <= now);
  if (recent.some(({ outcome }) => outcome === overLimit)) return "told";
  const session = recent.find(({ sessionId }) => sessionId !== undefined)?.sessionId;
  const row = session === undefined ? null : await log.store.reads.session(owner, session);
  return row?.lastState === "limit" ? "told" : "untold";
}

/**
 * After a clock that was ahead is corrected: occurrences it had skipped are still to come, and those it submitted
 * stay deduplicated by name.
 */
async function rewindToNow(
  { store }: SchedulerDeps,
  stored: StoredSchedule,
  now: number,
): Promise<void> {
  await store.advance({ ...stored, schedule: { ...stored.schedule, from: now - graceMs } });
}

/** The occurrences on time; of the missed ones none, or just the newest if none is on time. */
function occurrencesToSubmit(
  { missed }: Schedule,
  due: readonly Occurrence[],
  now: number,
): readonly Occurrence[] {
  const onTime = due.filter(({ at }) => now - at <= graceMs);
  return onTime.length > 0 || missed === "skip" ? onTime : due.slice(-1);
}

/** `later`: the store failed. Otherwise the final outcome. */
async function submitOccurrence(
  deps: SchedulerDeps,
  schedule: Schedule,
  { name }: Occurrence,
): Promise<"later" | Pick<OccurrenceOutcome, "outcome" | "sessionId">> {
  const { session: sessionId, admission } = await submitPrompt(deps, deps.owner, schedule, {
    key: `schedule:${schedule.id}:${name}`,
    heading: `scheduled for ${name.replace("T", " ")}, ${schedule.timeZone}`,
  });
  switch (admission.status) {
    case "accepted":
      return { outcome: "accepted", sessionId };
    case "refused":
      // The lane has moved since another host submitted it, or that host compared with another report.
      return admission.code === "inbound_taken" || admission.code === "idempotency_conflict"
        ? { outcome: "accepted" }
        : { outcome: admission.code };
    case "failed":
      return "later";
  }
}

export interface SubmitPromptDeps {
  readonly log: Log;
  readonly ids: IdSource;
  readonly runner: Pick<Runner, "notify">;
  /** The session a lane points at, created if there is none; concurrent callers get the same one. */
  readonly sessionFor: (owner: OwnerId, lane: LaneKey, key: string) => Promise<SessionId>;
  readonly rights: Pick<RightsResolver, "ofLane">;
}

export interface PromptSource {
  /** Identifies the message permanently: the store accepts a key once. */
  readonly key: string;
  /** Tells the model why this message exists. */
  readonly heading: string;
}

interface SubmittedPrompt {
  readonly session: SessionId;
  readonly admission: Admission;
}

/** Submits a schedule's prompt to its target, with at most its maker's rights, and starts the run. */
export async function submitPrompt(
  { log, ids, runner, sessionFor, rights }: SubmitPromptDeps,
  owner: OwnerId,
  schedule: Pick<Schedule, "id" | "prompt" | "target" | "maker" | "report" | "recent">,
  { key, heading }: PromptSource,
): Promise<SubmittedPrompt> {
  const { target, maker } = schedule;
  const limits = maker && (await limitsOf(rights, owner, maker));
  const lane = "lane" in target ? target.lane : undefined;
  const session = "lane" in target ? await sessionFor(owner, target.lane, key) : target.sessionId;
  const { text, taint } = await promptFor(log, owner, session, schedule);
  const admission = await admitMessage(log, ids, {
    owner,
    session,
    clientId: key,
    text: `[${heading}]\n\n${text}`,
    ...limits,
    taint: mergeTaint(limits?.taint ?? [], taint),
    ...(lane !== undefined && { lane, inbound: { key } }),
  });
  if (admission.status === "accepted") runner.notify(owner, session);
  return { session, admission };
}

async function promptFor(
  { store: { reads } }: Log,
  owner: OwnerId,
  session: SessionId,
  { id, prompt, report, recent }: Pick<Schedule, "id" | "prompt" | "report" | "recent">,
): Promise<LastReport> {
  if (report !== "changes") return { text: prompt, taint: [] };
  // The chat of a lane may have begun another conversation since.
  const earlier = recent.flatMap(({ sessionId }) => sessionId ?? []);
  for (const candidate of new Set([session, ...earlier])) {
    const last = await readLastReport(reads, owner, candidate, id);
    if (last !== null) return { text: askForChanges(prompt, last.text), taint: last.taint };
  }
  return { text: askForChanges(prompt, null), taint: [] };
}

/** What its maker could do when they made it, and still can now. */
async function limitsOf(
  resolver: Pick<RightsResolver, "ofLane">,
  owner: OwnerId,
  { lane, rights, taint }: ScheduleMaker,
): Promise<{ readonly rights: Rights; readonly taint: readonly TaintSource[] }> {
  return { rights: commonRights([rights, await resolver.ofLane(owner, lane)]), taint };
}
