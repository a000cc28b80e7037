import type { Failed, Register } from "@holdfast/engine";
import {
  laneKey,
  type OwnerId,
  rights,
  type ScheduleBody,
  type ScheduleId,
  type ScheduleTimes,
  type ScheduleView,
  scheduleView,
  taintSources,
} from "@holdfast/protocol";
import { z } from "zod";

import { nextOccurrence } from "./occurrences.ts";

/** Who made a schedule, with the rights that they had then and what their text counts as. */
const scheduleMaker = z.object({ lane: laneKey, rights, taint: taintSources });
export type ScheduleMaker = z.infer<typeof scheduleMaker>;

/** `from`: occurrences up to this time are done, by the store's clock. */
const scheduleRow = scheduleView.omit({ nextAt: true, spending: true }).extend({
  from: scheduleView.shape.createdAt,
  recent: scheduleView.shape.recent.default([]),
  /** Without one the owner made it. */
  maker: scheduleMaker.optional(),
});
export type Schedule = z.infer<typeof scheduleRow>;
export type OccurrenceOutcome = Schedule["recent"][number];

const maxRecent = 10;

/** Newest outcome first. */
export function withOutcome(
  schedule: Schedule,
  ...outcomes: readonly OccurrenceOutcome[]
): Schedule {
  const recent = [...outcomes.toReversed(), ...schedule.recent].slice(0, maxRecent);
  return { ...schedule, recent, last: recent[0] ?? null };
}

export type NewSchedule = Omit<ScheduleBody, "madeIn"> & { readonly maker?: ScheduleMaker };

export type ScheduleChange = {
  readonly [Field in keyof Omit<ScheduleBody, "madeIn">]?: ScheduleBody[Field] | undefined;
};

export interface StoredSchedule {
  readonly owner: OwnerId;
  readonly schedule: Schedule;
  readonly revision: number;
  readonly key: string;
}

export type ScheduleWriteResult =
  | { readonly status: "kept"; readonly schedule: Schedule }
  | { readonly status: "not_found" | "too_many" }
  | Failed;

const registerPrefix = "schedule/";
/** One register row each. A removed schedule's row is reused. */
const maxSchedules = 200;
const emptySlot = "null";
const maxAttempts = 20;

/** The scheduled prompts, in the store's register, shared by all hosts on the store. */
export class ScheduleStore {
  readonly #register: Register;
  readonly #now: () => Promise<number>;

  constructor(register: Register, now: () => Promise<number>) {
    this.#register = register;
    this.#now = now;
  }

  async list(owner: OwnerId): Promise<readonly StoredSchedule[]> {
    const rows = await this.#register.list(owner, registerPrefix, maxSchedules);
    return rows
      .flatMap(({ key, value, revision }) => {
        const schedule = decodeSchedule(value);
        return schedule === null ? [] : [{ owner, schedule, revision, key }];
      })
      .toSorted((a, b) => a.schedule.createdAt - b.schedule.createdAt);
  }

  async find(owner: OwnerId, id: ScheduleId): Promise<Schedule | null> {
    const found = (await this.list(owner)).find(({ schedule }) => schedule.id === id);
    return found?.schedule ?? null;
  }

  /** Idempotent: the same id is the same schedule. */
  async create(owner: OwnerId, id: ScheduleId, body: NewSchedule): Promise<ScheduleWriteResult> {
    const now = await this.#now();
    const { missed = "skip", state = "on" } = body;
    const defaults = { id, createdAt: now, from: now, last: null, recent: [] };
    const times = anchored(body.times, now);
    const schedule: Schedule = { ...body, times, missed, state, ...defaults };
    for (let attempt = 0; attempt < maxAttempts; attempt += 1) {
      const rows = await this.#register.list(owner, registerPrefix, maxSchedules);
      const existing = rows
        .map(({ value }) => decodeSchedule(value))
        .find((candidate) => candidate?.id === id);
      if (existing != null) return { status: "kept", schedule: existing };
      const slot = findFreeSlot(rows);
      if (slot === null) return { status: "too_many" };
      const value = JSON.stringify(schedule);
      const result = await this.#register.put({ owner, ...slot, value });
      if (result.status === "put") return { status: "kept", schedule };
      if (result.status === "failed") return result;
    }
    return { status: "too_many" };
  }

  /** Changes apply from now on: occurrences that have passed are not caught up. */
  async change(owner: OwnerId, id: ScheduleId, body: ScheduleChange): Promise<ScheduleWriteResult> {
    const from = await this.#now();
    return this.#rewrite(owner, id, (schedule) =>
      scheduleRow.parse({
        ...schedule,
        ...body,
        ...(body.times && { times: anchored(body.times, from) }),
        from,
      }),
    );
  }

  /** Records a manual run, which does not change when the schedule is due. */
  addOutcome(
    owner: OwnerId,
    id: ScheduleId,
    outcome: OccurrenceOutcome,
  ): Promise<ScheduleWriteResult> {
    return this.#rewrite(owner, id, (schedule) => withOutcome(schedule, outcome));
  }

  remove(owner: OwnerId, id: ScheduleId): Promise<ScheduleWriteResult> {
    return this.#rewrite(owner, id, () => null);
  }

  /** `false`: another host was faster, or the schedule was changed. */
  async advance({ owner, key, revision, schedule }: StoredSchedule): Promise<boolean> {
    const change = { owner, key, expect: revision, value: JSON.stringify(schedule) };
    return (await this.#register.put(change)).status === "put";
  }

  async #rewrite(
    owner: OwnerId,
    id: ScheduleId,
    apply: (schedule: Schedule) => Schedule | null,
  ): Promise<ScheduleWriteResult> {
    for (let attempt = 0; attempt < maxAttempts; attempt += 1) {
      const found = (await this.list(owner)).find(({ schedule }) => schedule.id === id);
      if (found === undefined) return { status: "not_found" };
      const changed = apply(found.schedule);
      const value = changed === null ? emptySlot : JSON.stringify(changed);
      const { key, revision: expect } = found;
      const result = await this.#register.put({ owner, key, value, expect });
      if (result.status === "put") return { status: "kept", schedule: changed ?? found.schedule };
      if (result.status === "failed") return result;
    }
    return { status: "not_found" };
  }
}

/** An interval is counted from when it was made, in whole minutes. */
export function anchored(times: ScheduleTimes, now: number): ScheduleTimes {
  if (!("everyMinutes" in times) || times.from !== undefined) return times;
  return { ...times, from: Math.floor(now / 60_000) * 60_000 };
}

function findFreeSlot(rows: readonly { key: string; value: string; revision: number }[]) {
  const rowsByKey = new Map(rows.map((row) => [row.key, row]));
  for (let index = 0; index < maxSchedules; index += 1) {
    const key = `${registerPrefix}${String(index).padStart(3, "0")}`;
    const row = rowsByKey.get(key);
    if (row === undefined) return { key, expect: 0 };
    if (row.value === emptySlot) return { key, expect: row.revision };
  }
  return null;
}

function decodeSchedule(value: string): Schedule | null {
  try {
    return scheduleRow.parse(JSON.parse(value));
  } catch {
    return null;
  }
}

export function viewSchedule({ from, maker, ...schedule }: Schedule): ScheduleView {
  const next = schedule.state === "on" ? nextOccurrence(schedule, from) : null;
  return {
    ...schedule,
    ...(maker && { maker: { lane: maker.lane, profile: maker.rights.profile } }),
    nextAt: next?.at ?? null,
  };
}
