import { createLog, systemClock } from "@holdfast/engine";
import {
  decodeEvent,
  ids,
  laneKey,
  noRights,
  ownerId,
  ownerRights,
  type Rights,
  rightsOf,
  rightsSubject,
  type ScheduleBody,
  type SessionId,
} from "@holdfast/protocol";
import { createReferenceStore } from "@holdfast/testing/reference-store/store";
import { describe, expect, onTestFinished, test, vi } from "vitest";

import { sessionForLane } from "../../gateway/lanes.ts";
import { openRightsResolver } from "../../rights/resolve-rights.ts";
import { openRightsStore } from "../../rights/rights-store.ts";
import { type NewSchedule, ScheduleStore } from "./schedule-store.ts";
import { submitDuePrompts } from "./scheduler.ts";

const owner = ownerId.parse("owner");
const lane = laneKey.parse("telegram:1:p7:0");
const hourMs = 3_600_000;
const days = ["mon", "tue", "wed", "thu", "fri"] as const;

/** A Wednesday, one minute before eight in Berlin. */
const start = Date.parse("2026-11-18T06:59Z");

async function openSchedules(overrides: Partial<NewSchedule> = {}) {
  const time = { now: start };
  const store = createReferenceStore({ clock: () => time.now });
  onTestFinished(() => store.close());
  const log = createLog(store);
  const { session } = await log.createSession({ owner, ids });
  const scheduleStore = new ScheduleStore(store.register, () => store.now());
  const body: NewSchedule = {
    title: "Morning",
    prompt: "Summarise my inbox folder.",
    times: { days: [...days], at: ["08:00"] },
    timeZone: "Europe/Berlin",
    target: { sessionId: session },
    ...overrides,
  };
  const created = await scheduleStore.create(owner, ids.make("schedule"), body);
  if (created.status !== "kept") throw new Error(created.status);
  const notified: SessionId[] = [];
  const deps = {
    log,
    ids,
    clock: systemClock,
    owner,
    store: scheduleStore,
    runner: { notify: (_: unknown, to: SessionId) => void notified.push(to) },
    sessionFor: (scheduleOwner: typeof owner, at: typeof lane, key: string) =>
      sessionForLane({ log, owner: scheduleOwner }, at, key),
    rights: openRightsResolver(store.register),
    report: (bug: unknown): void => {
      throw bug;
    },
  };
  /** Polls once at this time. */
  async function pollAt(at: number, depOverrides: Partial<typeof deps> = {}): Promise<void> {
    time.now = at;
    await submitDuePrompts({ ...deps, ...depOverrides });
  }
  async function submitted(target = session): Promise<string[]> {
    const page = await store.reads.events(owner, target, { after: 0 as never, limit: 500 });
    return (page?.events ?? []).flatMap((stored) => {
      const decoded = decodeEvent(stored);
      if (decoded.kind !== "known" || decoded.event.type !== "input.accepted") return [];
      return [decoded.event.data.clientId?.slice(-16) ?? ""];
    });
  }
  const { id } = created.schedule;
  return { store, scheduleStore, pollAt, submitted, notified, session, id, deps };
}

test("a prompt is submitted at its time, once, however often hosts poll", async () => {
  const { pollAt, submitted, notified, session, scheduleStore } = await openSchedules();
  await pollAt(start);
  expect(await submitted()).toEqual([]);
  for (const minutes of [1, 2, 3]) await pollAt(start + minutes * 60_000);
  expect(await submitted()).toEqual(["2026-11-18T08:00"]);
  expect(notified).toEqual([session]);
  // The following weekdays, and not on the weekend.
  for (let hours = 1; hours <= 5 * 24; hours += 1) await pollAt(start + hours * hourMs + 60_000);
  expect(await submitted()).toEqual([
    "2026-11-18T08:00",
    "2026-11-19T08:00",
    "2026-11-20T08:00",
    "2026-11-23T08:00",
  ]);
  const [{ schedule } = { schedule: null }] = await scheduleStore.list(owner);
  expect(schedule?.last).toMatchObject({ occurrence: "2026-11-23T08:00", outcome: "accepted" });
});

test("[P11] an interval is submitted once at each of its times, counted from when it was made", async () => {
  const { pollAt, submitted } = await openSchedules({ times: { everyMinutes: 45 } });
  for (let minutes = 0; minutes <= 140; minutes += 1) await pollAt(start + minutes * 60_000);
  expect(await submitted()).toEqual(["2026-11-18T08:44", "2026-11-18T09:29", "2026-11-18T10:14"]);
});

test("an expression that this version does not understand is listed, and never due", async () => {
  const { pollAt, submitted, scheduleStore } = await openSchedules({
    times: { cron: "0 8 * * someday" },
  });
  await pollAt(start + 24 * hourMs);
  expect(await submitted()).toEqual([]);
  expect(await scheduleStore.list(owner)).toHaveLength(1);
});

test.each([
  ["skip", []],
  ["once", ["2026-11-20T08:00"]],
] as const)("of occurrences missed while no host ran, %s submits %j", async (missed, expected) => {
  const { pollAt, submitted } = await openSchedules({ missed });
  const sunday = Date.parse("2026-11-22T12:00Z");
  await pollAt(sunday);
  await pollAt(sunday + hourMs);
  expect(await submitted()).toEqual(expected);
  await pollAt(Date.parse("2026-11-23T07:00:30Z"));
  expect(await submitted()).toEqual([...expected, "2026-11-23T08:00"]);
});

test("a host that dies after submitting and before recording it causes no second submission", async () => {
  const { pollAt, submitted, scheduleStore } = await openSchedules();
  const dying = Object.assign(Object.create(scheduleStore) as typeof scheduleStore, {
    list: () => scheduleStore.list(owner),
    advance: async () => false,
  });
  await pollAt(start + 60_000, { store: dying });
  expect((await scheduleStore.list(owner))[0]?.schedule.last).toBeNull();
  await pollAt(start + 90_000);
  expect(await submitted()).toEqual(["2026-11-18T08:00"]);
});

test("a prompt for a chat goes to its lane's session, and the answer is queued for the chat", async () => {
  const { pollAt, store } = await openSchedules({ target: { lane } });
  await pollAt(start + 60_000);
  const session = await store.reads.lane(owner, lane);
  const query = { states: ["pending"], limit: 10 } as const;
  expect(await store.reads.outbox(owner, query)).toMatchObject([{ session, lane, kind: "answer" }]);
});

test("a prompt whose session could not be stored is still due", async () => {
  const { pollAt, store, deps } = await openSchedules({ target: { lane } });
  const { log } = deps;
  const result = { status: "failed", code: "store_full", message: "The disk is full." } as const;
  const failingLog = {
    ...log,
    createSession: async () => ({ session: ids.make("session"), result }),
  };
  const onFullDisk = {
    sessionFor: (of: typeof owner, at: typeof lane, key: string) =>
      sessionForLane({ log: failingLog, owner: of }, at, key),
  };
  await expect(pollAt(start + 60_000, onFullDisk)).rejects.toThrow("The disk is full.");
  await pollAt(start + 65_000);
  expect(await store.reads.outbox(owner, { states: ["pending"], limit: 10 })).toHaveLength(1);
});

test("a schedule that is off, removed or switched on again submits nothing for past times", async () => {
  const { pollAt, submitted, scheduleStore, id } = await openSchedules({ missed: "once" });
  await scheduleStore.change(owner, id, { state: "off" });
  await pollAt(start + 24 * hourMs + 60_000);
  await scheduleStore.change(owner, id, { state: "on" });
  await pollAt(start + 30 * hourMs);
  expect(await submitted()).toEqual([]);
  await pollAt(start + 48 * hourMs + 60_000);
  expect(await submitted()).toEqual(["2026-11-20T08:00"]);
  expect((await scheduleStore.remove(owner, id)).status).toBe("kept");
  expect((await scheduleStore.remove(owner, id)).status).toBe("not_found");
  await pollAt(start + 120 * hourMs + 60_000);
  expect(await submitted()).toHaveLength(1);
});

test("a schedule whose session is gone records why, and the others go on", async () => {
  const { pollAt, scheduleStore, submitted, session } = await openSchedules({
    target: { sessionId: ids.make("session") },
  });
  const other: ScheduleBody = {
    title: "Other",
    prompt: "Hello",
    times: { date: "2026-11-18", at: "08:00" },
    timeZone: "Europe/Berlin",
    target: { sessionId: session },
  };
  await pollAt(start);
  await scheduleStore.create(owner, ids.make("schedule"), other);
  await pollAt(start + 60_000);
  const [gone] = await scheduleStore.list(owner);
  expect(gone?.schedule.last?.outcome).toBe("session_not_found");
  expect(await submitted()).toEqual(["2026-11-18T08:00"]);
});

test("a schedule that hits a bug is reported, and those after it are submitted", async () => {
  const { pollAt, scheduleStore, submitted, session } = await openSchedules({ target: { lane } });
  await scheduleStore.create(owner, ids.make("schedule"), {
    title: "Behind it",
    prompt: "Hello",
    times: { date: "2026-11-18", at: "08:00" },
    timeZone: "Europe/Berlin",
    target: { sessionId: session },
  });
  const bugs: Error[] = [];
  const broken = {
    sessionFor: async (): Promise<SessionId> => {
      throw new TypeError("undefined is not a function");
    },
    report: (bug: unknown) => void bugs.push(bug as Error),
  };
  await pollAt(start + 60_000, broken);
  expect(await submitted()).toEqual(["2026-11-18T08:00"]);
  expect(bugs.map(({ cause }) => String(cause))).toEqual([
    "TypeError: undefined is not a function",
  ]);
});

test("a clock that was far ahead and is corrected leaves no schedule waiting", async () => {
  const { pollAt, submitted } = await openSchedules();
  await pollAt(Date.parse("2090-01-01T12:00Z"));
  for (const minutes of [0, 1, 2]) await pollAt(start + minutes * 60_000);
  expect(await submitted()).toEqual(["2026-11-18T08:00"]);
});

test("looking for missed occurrences takes as long after years as after a week", async () => {
  const at = Array.from({ length: 24 }, (_, hour) => `${String(hour).padStart(2, "0")}:00`);
  const { pollAt, submitted } = await openSchedules({
    missed: "once",
    times: { days: [...days], at },
  });
  const format = vi.spyOn(Intl.DateTimeFormat.prototype, "formatToParts");
  onTestFinished(() => format.mockRestore());
  await pollAt(Date.parse("2027-01-06T12:30Z"));
  expect(await submitted()).toEqual(["2027-01-06T13:00"]);
  const formatted = format.mock.calls.length;
  await pollAt(Date.parse("2037-01-07T12:30Z"));
  expect(format.mock.calls.length - formatted).toBeLessThan(2 * formatted);
  // Nothing is due: polling again does no calendar computation.
  format.mockClear();
  for (const seconds of [5, 10]) await pollAt(Date.parse("2037-01-07T12:30Z") + seconds * 1_000);
  expect(format).not.toHaveBeenCalled();
});

test("slots of removed schedules are reused, and their number is limited", async () => {
  const { scheduleStore, store, session } = await openSchedules();
  const body: ScheduleBody = {
    title: "One of many",
    prompt: "Hello",
    times: { date: "2030-01-01", at: "08:00" },
    timeZone: "UTC",
    target: { sessionId: session },
  };
  for (let index = 0; index < 300; index += 1) {
    const created = await scheduleStore.create(owner, ids.make("schedule"), body);
    if (created.status !== "kept") throw new Error(created.status);
    await scheduleStore.remove(owner, created.schedule.id);
  }
  expect(await store.register.list(owner, "schedule/", 1_000)).toHaveLength(2);
  const id = ids.make("schedule");
  await scheduleStore.create(owner, id, body);
  // A retry by a client that did not get the answer.
  await scheduleStore.create(owner, id, body);
  expect(await scheduleStore.list(owner)).toHaveLength(2);
  for (let index = 2; index < 200; index += 1)
    await scheduleStore.create(owner, ids.make("schedule"), body);
  expect((await scheduleStore.create(owner, ids.make("schedule"), body)).status).toBe("too_many");
});

describe("a schedule that a program made", () => {
  const client = laneKey.parse("mcp:client");
  const readers = { tools: ["read_*"], sessions: "own", memory: "read", approvals: false } as const;
  const taint = [{ kind: "mcp" as const, name: "client" }];
  const madeWith = (rights: Rights) => ({ maker: { lane: client, rights, taint } });

  async function acceptedOf({ store, session }: Awaited<ReturnType<typeof openSchedules>>) {
    const page = await store.reads.events(owner, session, { after: 0 as never, limit: 500 });
    return (page?.events ?? []).filter(({ type }) => type === "input.accepted");
  }

  test("[safety] submits its prompt tainted, with the rights of its maker when they made it", async () => {
    const made = rightsOf({ name: "readers", ...readers, tools: [...readers.tools] });
    const opened = await openSchedules(madeWith(made));
    await opened.pollAt(start + 60_000);
    const [accepted] = await acceptedOf(opened);
    expect(accepted?.data).toMatchObject({ rights: made, taint });
  });

  test("[safety] submits it with fewer if its maker has fewer by then", async () => {
    const opened = await openSchedules(madeWith(ownerRights));
    const rights = openRightsStore(opened.store.register);
    await rights.put(owner, { name: "readers", ...readers, tools: [...readers.tools] });
    await rights.assign(owner, rightsSubject.parse(`lane:${client}`), "readers");
    await opened.pollAt(start + 60_000);
    const [accepted] = await acceptedOf(opened);
    expect(accepted?.data).toMatchObject({ rights: { profile: "readers", tools: ["read_*"] } });
  });

  test("changing it later leaves its maker's rights as they were", async () => {
    const opened = await openSchedules(madeWith(noRights));
    await opened.scheduleStore.change(owner, opened.id, { title: "Noon" });
    await opened.pollAt(start + 60_000);
    const [accepted] = await acceptedOf(opened);
    expect(accepted?.data).toMatchObject({ rights: { tools: [] }, taint });
  });

  test("one from before makers were stored runs as it always did", async () => {
    const opened = await openSchedules();
    const [{ schedule } = { schedule: null }] = await opened.scheduleStore.list(owner);
    expect(schedule).not.toHaveProperty("maker");
    await opened.pollAt(start + 60_000);
    const [accepted] = await acceptedOf(opened);
    expect(accepted?.data).not.toHaveProperty("rights");
    expect(accepted?.data).not.toHaveProperty("taint");
  });
});
