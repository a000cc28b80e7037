import type { Failed, Register } from "@holdfast/engine";
import {
  type OwnerId,
  type ScheduleBody,
  type ScheduleId,
  type ScheduleView,
  scheduleView,
} from "@holdfast/protocol";
import type { z } from "zod";

import { nextOccurrence } from "./occurrences.ts";

/** `from`: occurrences up to then are done with, by the store's clock. */
const scheduleRow = scheduleView.omit({ nextAt: true }).extend({
  from: scheduleView.shape.createdAt,
  recent: scheduleView.shape.recent.default([]),
});
export type Schedule = z.infer<typeof scheduleRow>;
export type OccurrenceOutcome = Schedule["recent"][number];

const maxRecent = 10;

/** What became of it last stands first. */
export function withOutcome(
  schedule: Schedule,
  ...happened: readonly OccurrenceOutcome[]
): Schedule {
  const recent = [...happened.toReversed(), ...schedule.recent].slice(0, maxRecent);
  return { ...schedule, recent, last: recent[0] ?? null };
}

export type ScheduleChange = {
  readonly [Field in keyof ScheduleBody]?: ScheduleBody[Field] | undefined;
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
/** A row of the register each. What was removed leaves its place to another. */
const maxSchedules = 200;
const emptySlot = "null";
const maxTries = 20;

/** The prompts that are said by themselves, in the store's register: every host on the store goes by them. */
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

  /** The same id again is the same schedule. */
  async create(owner: OwnerId, id: ScheduleId, body: ScheduleBody): Promise<ScheduleWriteResult> {
    const now = await this.#now();
    const { missed = "skip", state = "on" } = body;
    const more = { id, createdAt: now, from: now, last: null, recent: [] };
    const schedule: Schedule = { ...body, missed, state, ...more };
    for (let tries = 0; tries < maxTries; tries += 1) {
      const rows = await this.#register.list(owner, registerPrefix, maxSchedules);
      const known = rows.map(({ value }) => decodeSchedule(value)).find((each) => each?.id === id);
      if (known != null) return { status: "kept", schedule: known };
      const place = findFreeSlot(rows);
      if (place === null) return { status: "too_many" };
      const value = JSON.stringify(schedule);
      const put = await this.#register.put({ owner, ...place, value });
      if (put.status === "put") return { status: "kept", schedule };
      if (put.status === "failed") return put;
    }
    return { status: "too_many" };
  }

  /** What is changed counts from now on: times that have passed are not made up for. */
  async change(owner: OwnerId, id: ScheduleId, body: ScheduleChange): Promise<ScheduleWriteResult> {
    const from = await this.#now();
    return this.#rewrite(owner, id, (schedule) =>
      scheduleRow.parse({ ...schedule, ...body, from }),
    );
  }

  /** What was said beside its times changes nothing about when it is due. */
  addOutcome(
    owner: OwnerId,
    id: ScheduleId,
    happened: OccurrenceOutcome,
  ): Promise<ScheduleWriteResult> {
    return this.#rewrite(owner, id, (schedule) => withOutcome(schedule, happened));
  }

  remove(owner: OwnerId, id: ScheduleId): Promise<ScheduleWriteResult> {
    return this.#rewrite(owner, id, () => null);
  }

  /** `false`: somebody else was faster, or the schedule was changed. */
  async advance({ owner, key, revision, schedule }: StoredSchedule): Promise<boolean> {
    const change = { owner, key, expect: revision, value: JSON.stringify(schedule) };
    return (await this.#register.put(change)).status === "put";
  }

  async #rewrite(
    owner: OwnerId,
    id: ScheduleId,
    apply: (schedule: Schedule) => Schedule | null,
  ): Promise<ScheduleWriteResult> {
    for (let tries = 0; tries < maxTries; tries += 1) {
      const found = (await this.list(owner)).find(({ schedule }) => schedule.id === id);
      if (found === undefined) return { status: "not_found" };
      const changed = apply(found.schedule);
      const value = changed === null ? emptySlot : JSON.stringify(changed);
      const { key, revision: expect } = found;
      const put = await this.#register.put({ owner, key, value, expect });
      if (put.status === "put") return { status: "kept", schedule: changed ?? found.schedule };
      if (put.status === "failed") return put;
    }
    return { status: "not_found" };
  }
}

function findFreeSlot(rows: readonly { key: string; value: string; revision: number }[]) {
  const taken = new Map(rows.map((row) => [row.key, row]));
  for (let place = 0; place < maxSchedules; place += 1) {
    const key = `${registerPrefix}${String(place).padStart(3, "0")}`;
    const row = taken.get(key);
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

export function viewSchedule({ from, ...schedule }: Schedule): ScheduleView {
  const next = schedule.state === "on" ? nextOccurrence(schedule, from) : null;
  return { ...schedule, nextAt: next?.at ?? null };
}
