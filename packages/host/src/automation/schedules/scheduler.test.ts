import { createLog, systemClock } from "@holdfast/engine";
import {
  decodeEvent,
  ids,
  laneKey,
  ownerId,
  type ScheduleBody,
  type SessionId,
} from "@holdfast/protocol";
import { createReferenceStore } from "@holdfast/testing/reference-store/store";
import { expect, onTestFinished, test, vi } from "vitest";

import { sessionForLane } from "../../gateway/lane-session.ts";
import { ScheduleStore } from "./schedule-store.ts";
import { submitDuePrompts } from "./scheduler.ts";

const owner = ownerId.parse("owner");
const lane = laneKey.parse("telegram:1:p7:0");
const hourMs = 3_600_000;
const days = ["mon", "tue", "wed", "thu", "fri"] as const;

/** Wednesday, a minute before eight in Berlin. */
const before = Date.parse("2026-11-18T06:59Z");

async function openSchedules(given: Partial<ScheduleBody> = {}) {
  const time = { now: before };
  const store = createReferenceStore({ clock: () => time.now });
  onTestFinished(() => store.close());
  const log = createLog(store);
  const { session } = await log.createSession({ owner, ids });
  const kept = new ScheduleStore(store.register, () => store.now());
  const body: ScheduleBody = {
    title: "Morning",
    prompt: "Summarise my inbox folder.",
    times: { days: [...days], at: ["08:00"] },
    timeZone: "Europe/Berlin",
    target: { sessionId: session },
    ...given,
  };
  const made = await kept.create(owner, ids.make("schedule"), body);
  if (made.status !== "kept") throw new Error(made.status);
  const poked: SessionId[] = [];
  const parts = {
    log,
    ids,
    clock: systemClock,
    owner,
    store: kept,
    runner: { notify: (_: unknown, to: SessionId) => void poked.push(to) },
    sessionFor: (of: typeof owner, at: typeof lane, key: string) =>
      sessionForLane({ log, owner: of }, at, key),
    report: (bug: unknown): void => {
      throw bug;
    },
  };
  /** A host looks at this time. */
  async function look(at: number, rest: Partial<typeof parts> = {}): Promise<void> {
    time.now = at;
    await submitDuePrompts({ ...parts, ...rest });
  }
  async function said(of = session): Promise<string[]> {
    const page = await store.reads.events(owner, of, { after: 0 as never, limit: 500 });
    return (page?.events ?? []).flatMap((stored) => {
      const decoded = decodeEvent(stored);
      if (decoded.kind !== "known" || decoded.event.type !== "input.accepted") return [];
      return [decoded.event.data.clientId?.slice(-16) ?? ""];
    });
  }
  const { id } = made.schedule;
  return { store, kept, look, said, poked, session, id, parts };
}

test("a prompt is said at its time, once, however often anybody looks", async () => {
  const { look, said, poked, session, kept } = await openSchedules();
  await look(before);
  expect(await said()).toEqual([]);
  for (const late of [1, 2, 3]) await look(before + late * 60_000);
  expect(await said()).toEqual(["2026-11-18T08:00"]);
  expect(poked).toEqual([session]);
  // The next day, and not on the weekend.
  for (let hours = 1; hours <= 5 * 24; hours += 1) await look(before + hours * hourMs + 60_000);
  expect(await said()).toEqual([
    "2026-11-18T08:00",
    "2026-11-19T08:00",
    "2026-11-20T08:00",
    "2026-11-23T08:00",
  ]);
  const [{ schedule } = { schedule: null }] = await kept.list(owner);
  expect(schedule?.last).toMatchObject({ occurrence: "2026-11-23T08:00", outcome: "accepted" });
});

test.each([
  ["skip", []],
  ["once", ["2026-11-20T08:00"]],
] as const)("of what was missed while no host was there, %s says %j", async (missed, wanted) => {
  const { look, said } = await openSchedules({ missed });
  const sunday = Date.parse("2026-11-22T12:00Z");
  await look(sunday);
  await look(sunday + hourMs);
  expect(await said()).toEqual(wanted);
  await look(Date.parse("2026-11-23T07:00:30Z"));
  expect(await said()).toEqual([...wanted, "2026-11-23T08:00"]);
});

test("a host that dies after it has said it, and before that is written down, is not said again by the next", async () => {
  const { look, said, kept, parts } = await openSchedules();
  const dying = Object.assign(Object.create(kept) as typeof kept, {
    list: () => kept.list(owner),
    advance: async () => false,
  });
  await look(before + 60_000, { store: dying });
  expect((await kept.list(owner))[0]?.schedule.last).toBeNull();
  await look(before + 90_000, { ...parts });
  expect(await said()).toEqual(["2026-11-18T08:00"]);
});

test("what is for a chat is said where its lane leads, and its answer is owed to the chat", async () => {
  const { look, store } = await openSchedules({ target: { lane } });
  await look(before + 60_000);
  const session = await store.reads.lane(owner, lane);
  const query = { states: ["pending"], limit: 10 } as const;
  expect(await store.reads.outbox(owner, query)).toMatchObject([{ session, lane, kind: "answer" }]);
});

test("what is for a chat whose session the store cannot take is still due", async () => {
  const { look, store, parts } = await openSchedules({ target: { lane } });
  const { log } = parts;
  const result = { status: "failed", code: "store_full", message: "The disk is full." } as const;
  const full = { ...log, createSession: async () => ({ session: ids.make("session"), result }) };
  const onFullDisk = {
    sessionFor: (of: typeof owner, at: typeof lane, key: string) =>
      sessionForLane({ log: full, owner: of }, at, key),
  };
  await expect(look(before + 60_000, onFullDisk)).rejects.toThrow("The disk is full.");
  await look(before + 65_000);
  expect(await store.reads.outbox(owner, { states: ["pending"], limit: 10 })).toHaveLength(1);
});

test("what is switched off, removed or gone says nothing; one that is switched on again makes up for nothing", async () => {
  const { look, said, kept, id } = await openSchedules({ missed: "once" });
  await kept.change(owner, id, { state: "off" });
  await look(before + 24 * hourMs + 60_000);
  await kept.change(owner, id, { state: "on" });
  await look(before + 30 * hourMs);
  expect(await said()).toEqual([]);
  await look(before + 48 * hourMs + 60_000);
  expect(await said()).toEqual(["2026-11-20T08:00"]);
  expect((await kept.remove(owner, id)).status).toBe("kept");
  expect((await kept.remove(owner, id)).status).toBe("not_found");
  await look(before + 120 * hourMs + 60_000);
  expect(await said()).toHaveLength(1);
});

test("a schedule whose session is gone says why, and the others go on", async () => {
  const { look, kept, said, session } = await openSchedules({
    target: { sessionId: ids.make("session") },
  });
  const other: ScheduleBody = {
    title: "Other",
    prompt: "Hello",
    times: { date: "2026-11-18", at: "08:00" },
    timeZone: "Europe/Berlin",
    target: { sessionId: session },
  };
  await look(before);
  await kept.create(owner, ids.make("schedule"), other);
  await look(before + 60_000);
  const [gone] = await kept.list(owner);
  expect(gone?.schedule.last?.outcome).toBe("session_not_found");
  expect(await said()).toEqual(["2026-11-18T08:00"]);
});

test("a schedule that meets a bug is reported, and those behind it are said", async () => {
  const { look, kept, said, session } = await openSchedules({ target: { lane } });
  await kept.create(owner, ids.make("schedule"), {
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
  await look(before + 60_000, broken);
  expect(await said()).toEqual(["2026-11-18T08:00"]);
  expect(bugs.map(({ cause }) => String(cause))).toEqual([
    "TypeError: undefined is not a function",
  ]);
});

test("a clock that was far ahead and is put right leaves no schedule waiting for the time it showed", async () => {
  const { look, said } = await openSchedules();
  await look(Date.parse("2090-01-01T12:00Z"));
  for (const late of [0, 1, 2]) await look(before + late * 60_000);
  expect(await said()).toEqual(["2026-11-18T08:00"]);
});

test("what was missed in years is looked for no longer than what was missed in a week", async () => {
  const at = Array.from({ length: 24 }, (_, hour) => `${String(hour).padStart(2, "0")}:00`);
  const { look, said } = await openSchedules({ missed: "once", times: { days: [...days], at } });
  const format = vi.spyOn(Intl.DateTimeFormat.prototype, "formatToParts");
  onTestFinished(() => format.mockRestore());
  await look(Date.parse("2027-01-06T12:30Z"));
  expect(await said()).toEqual(["2027-01-06T13:00"]);
  const formatted = format.mock.calls.length;
  await look(Date.parse("2037-01-07T12:30Z"));
  expect(format.mock.calls.length - formatted).toBeLessThan(2 * formatted);
  // Nothing is due: looking again asks no calendar at all.
  format.mockClear();
  for (const seconds of [5, 10]) await look(Date.parse("2037-01-07T12:30Z") + seconds * 1_000);
  expect(format).not.toHaveBeenCalled();
});

test("places of removed schedules are used again, and there is an end to how many there can be", async () => {
  const { kept, store, session } = await openSchedules();
  const body: ScheduleBody = {
    title: "One of many",
    prompt: "Hello",
    times: { date: "2030-01-01", at: "08:00" },
    timeZone: "UTC",
    target: { sessionId: session },
  };
  for (let each = 0; each < 300; each += 1) {
    const made = await kept.create(owner, ids.make("schedule"), body);
    if (made.status !== "kept") throw new Error(made.status);
    await kept.remove(owner, made.schedule.id);
  }
  expect(await store.register.list(owner, "schedule/", 1_000)).toHaveLength(2);
  const id = ids.make("schedule");
  await kept.create(owner, id, body);
  // The same again, by a client that has not heard the answer.
  await kept.create(owner, id, body);
  expect(await kept.list(owner)).toHaveLength(2);
  for (let each = 2; each < 200; each += 1) await kept.create(owner, ids.make("schedule"), body);
  expect((await kept.create(owner, ids.make("schedule"), body)).status).toBe("too_many");
});
