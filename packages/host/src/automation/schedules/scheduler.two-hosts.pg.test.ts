import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { createLog, type Store, systemClock } from "@holdfast/engine";
import { ids, laneKey, ownerId } from "@holdfast/protocol";
import { openPostgresStore, openSqliteStore } from "@holdfast/store";
import { expect, onTestFinished, test } from "vitest";

import { createDatabase } from "@holdfast/testing/postgres/create-database";
import { sessionForLane } from "../../gateway/lanes.ts";
import { openRightsResolver } from "../../rights/resolve-rights.ts";
import { createScheduler } from "./scheduler.ts";
import { ScheduleStore } from "./schedule-store.ts";

const owner = ownerId.parse("owner");
const lane = laneKey.parse("telegram:1:p7:0");
const days = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"] as const;
const minuteMs = 60_000;

type Open = (clockOffset: () => number) => Promise<Store>;

async function sqlite(): Promise<Open> {
  const folder = mkdtempSync(join(tmpdir(), "holdfast-schedules-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return (clockOffset) => openSqliteStore({ file: join(folder, "store.db"), clockOffset });
}

async function postgres(): Promise<Open> {
  const database = await createDatabase();
  onTestFinished(() => database[Symbol.asyncDispose]());
  return (clockOffset) => openPostgresStore({ url: database.url, clockOffset });
}

test.each([
  ["SQLite", sqlite],
  ["PostgreSQL", postgres],
] as const)(
  "[P11] four hosts on %s submit each occurrence once",
  async (_, prepare) => {
    const open = await prepare();
    let offset = 0;
    const stores: Store[] = [];
    for (let index = 0; index < 4; index += 1) stores.push(await open(() => offset));
    onTestFinished(async () => void (await Promise.all(stores.map((store) => store.close()))));
    const [first] = stores;
    const at = Array.from({ length: 24 }, (__, hour) => `${String(hour).padStart(2, "0")}:00`);
    const schedules = new ScheduleStore(first!.register, () => first!.now());
    const body = { title: "Hourly", prompt: "Hello", times: { days: [...days], at } };
    const target = { timeZone: "UTC", target: { lane } };
    await schedules.create(owner, ids.make("schedule"), { ...body, ...target });
    const hosts = stores.map((store) => {
      const log = createLog(store);
      return createScheduler({
        log,
        ids,
        clock: systemClock,
        owner,
        store: new ScheduleStore(store.register, () => store.now()),
        runner: { notify: () => {} },
        sessionFor: (laneOwner, targetLane, key) =>
          sessionForLane({ log, owner: laneOwner }, targetLane, key),
        rights: openRightsResolver(store.register),
        report: (bug) => {
          throw bug;
        },
        pollMs: 5,
      });
    });
    for (const host of hosts) host.start();
    const pendingCount = async () =>
      (await first!.reads.outbox(owner, { states: ["pending"], limit: 1_000 })).length;
    const hours = 6;
    for (let hour = 1; hour <= hours; hour += 1) {
      // Advance to a minute past the next full hour.
      const now = await first!.now();
      offset += 60 * minuteMs - (now % (60 * minuteMs)) + minuteMs;
      await expect.poll(pendingCount, { interval: 5 }).toBe(hour);
    }
    await Promise.all(hosts.map((host) => host.stop()));
    expect(await pendingCount()).toBe(hours);
    const { sessions } = await first!.reads.sessions(owner, { limit: 10 });
    expect(sessions).toHaveLength(1);
  },
  60_000,
);
