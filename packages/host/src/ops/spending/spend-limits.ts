import type { PaidWork, Reads, SpendLimit, SpendLimitsOf, Store } from "@holdfast/engine";
import {
  type OwnerId,
  type RunId,
  scheduleId,
  type ScheduleId,
  type SessionId,
} from "@holdfast/protocol";
import { childLanePrefix, parentOf, rootRunOf } from "../../automation/delegate/child-session.ts";
import { type Schedule, ScheduleStore } from "../../automation/schedules/schedule-store.ts";
import { spendPeriod } from "../../automation/schedules/spend-period.ts";
import type { Config } from "../config/settings.ts";
import { openSessionLimits } from "./session-limits.ts";

export interface SpendLimitDeps {
  readonly store: Pick<Store, "reads" | "register" | "now">;
  readonly config: Pick<Config, "spendPerSession">;
}

/** What a schedule may spend in this period, and has. */
export interface ScheduleSpending {
  readonly limitMicros: number;
  readonly spentMicros: number;
  readonly from: number;
  readonly until: number;
}

export interface SpendLimits {
  /** The limits of the conversation and of the schedule that a person or a timer began this work in. */
  readonly of: SpendLimitsOf;
  /** The conversation's limit, its own or the one for all; `null` without one. */
  ofSession(owner: OwnerId, session: SessionId): Promise<SessionSpending>;
  /** `null` if it has no limit. */
  ofSchedule(owner: OwnerId, schedule: Schedule): Promise<ScheduleSpending | null>;
}

export interface SessionSpending {
  readonly limitMicros: number | null;
  /** Whether the conversation has a limit of its own. */
  readonly isOwn: boolean;
  /** With the tasks that were delegated from it. */
  readonly spentMicros: number;
}

export function createSpendLimits({ store, config }: SpendLimitDeps): SpendLimits {
  const { reads, register } = store;
  const sessionLimits = openSessionLimits(register);
  const schedules = new ScheduleStore(register, () => store.now());

  async function limitOf(owner: OwnerId, session: SessionId) {
    const own = await sessionLimits.read(owner, session);
    const { value: usual } = config.spendPerSession;
    const limitMicros = own ?? (usual === undefined ? null : Math.round(usual * 1_000_000));
    return { limitMicros, isOwn: own !== null };
  }

  async function spentIn(owner: OwnerId, session: SessionId): Promise<number> {
    const query = { session, childLanes: childLanePrefix };
    return (await reads.usageOfWork(owner, query)).costMicros;
  }

  async function sessionLimit(owner: OwnerId, session: SessionId): Promise<readonly SpendLimit[]> {
    const { limitMicros } = await limitOf(owner, session);
    if (limitMicros === null) return [];
    return [{ cause: "spend_session", limitMicros, spentMicros: await spentIn(owner, session) }];
  }

  async function scheduleLimit(owner: OwnerId, sender: string): Promise<readonly SpendLimit[]> {
    const id = scheduleIn(sender);
    const schedule = id && (await schedules.find(owner, id));
    const spending = schedule && (await ofSchedule(owner, schedule));
    if (!schedule || !spending) return [];
    const { limitMicros, spentMicros } = spending;
    return [{ cause: "spend_schedule", name: schedule.title, limitMicros, spentMicros }];
  }

  async function ofSchedule(owner: OwnerId, schedule: Schedule): Promise<ScheduleSpending | null> {
    const { id, spendLimit, timeZone } = schedule;
    if (spendLimit == null) return null;
    const { costMicros: limitMicros, per } = spendLimit;
    const { from, until } = spendPeriod(per, timeZone, await store.now());
    const { costMicros } = await reads.usageOfWork(owner, {
      clientPrefix: `schedule:${id}:`,
      childLanes: childLanePrefix,
      since: from,
    });
    return { limitMicros, spentMicros: costMicros, from, until };
  }

  return {
    async of(work) {
      const { owner } = work;
      const root = await rootOf(reads, work);
      const sender = root.runId === undefined ? null : await reads.senderOf(owner, root.runId);
      const limits = await Promise.all([
        sessionLimit(owner, root.session),
        sender === null ? [] : scheduleLimit(owner, sender),
      ]);
      return limits.flat();
    },
    async ofSession(owner, session) {
      const limit = await limitOf(owner, session);
      return { ...limit, spentMicros: await spentIn(owner, session) };
    },
    ofSchedule,
  };
}

/** What a person or a timer began: everything that was delegated from it counts for it. */
async function rootOf(reads: Reads, { owner, session, runId }: PaidWork) {
  if (runId !== undefined) return rootRunOf(reads, { owner, session, runId });
  let root = session;
  for (;;) {
    const parent = await parentOf(reads, owner, root);
    if (parent === null) return { session: root, runId: await newestRunOf(reads, owner, root) };
    root = parent.sessionId;
  }
}

/** Background work belongs to the run before it. */
async function newestRunOf(
  reads: Pick<Reads, "entries">,
  owner: OwnerId,
  session: SessionId,
): Promise<RunId | undefined> {
  const page = await reads.entries(owner, session, { limit: 20 });
  return page?.entries.findLast((entry) => entry.runId !== undefined)?.runId;
}

/** `schedule:<id>:<occurrence>` */
function scheduleIn(sender: string): ScheduleId | null {
  const [kind, id] = sender.split(":");
  return kind === "schedule" ? (scheduleId.safeParse(id).data ?? null) : null;
}
