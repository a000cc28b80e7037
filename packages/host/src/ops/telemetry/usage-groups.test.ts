import { aUsage } from "@holdfast/testing/fixtures/factories";
import { ids } from "@holdfast/protocol";
import { expect, onTestFinished, test } from "vitest";

import { newSession, valueOf } from "../../../test/support/api-helpers.ts";
import { openApi } from "../../../test/support/api-rig.ts";

function open() {
  const rig = openApi([]);
  onTestFinished(() => rig.close());
  return rig;
}

test("usage is grouped by day, model, session and schedule, with the cached share", async () => {
  const rig = open();
  const { client, log, owner } = rig;
  const session = await newSession(rig);
  const used = { input: 100, output: 20, cacheRead: 25, costMicros: 1_500 };
  await log.commit({
    owner,
    session,
    events: [aUsage(ids.make("run"), { model: "large", ...used })],
  });
  const other = await newSession(rig);
  // A provider whose input leaves out what was cached.
  const apart = { input: 10, output: 1, cacheRead: 60, cacheWrite: 40, costMicros: 0 };
  await log.commit({
    owner,
    session: other,
    events: [aUsage(undefined, { model: "free", ...apart })],
  });

  const groups = valueOf(await client.readUsageGroups({ query: { days: 3, timeZone: "UTC" } }));
  const today = new Date(await log.store.now()).toISOString().slice(0, 10);
  expect(groups.days).toHaveLength(3);
  expect(groups.days.map(({ calls }) => calls)).toEqual([0, 0, 2]);
  expect(groups.days[0]?.cachedShare).toBe(null);
  expect(groups.days[2]).toMatchObject({ day: today, input: 200, output: 21, cachedShare: 0.425 });
  expect(groups.total).toMatchObject({ calls: 2, input: 200, costMicros: 1_500 });
  expect(groups.models.map(({ model, cachedShare }) => [model, cachedShare])).toEqual([
    ["large", 0.25],
    ["free", 0.6],
  ]);
  expect(groups.sessions.map(({ sessionId }) => sessionId)).toEqual([session, other]);
  expect(groups.schedules).toEqual([]);
});

test("days are those of the time zone, and an unknown zone is refused", async () => {
  const rig = open();
  const zones = ["Pacific/Kiritimati", "Pacific/Pago_Pago"];
  const today = await Promise.all(
    zones.map(
      async (timeZone) =>
        valueOf(await rig.client.readUsageGroups({ query: { days: 1, timeZone } })).days[0]?.day,
    ),
  );
  // 25 hours apart: never the same day.
  expect(today[0]).not.toBe(today[1]);
  expect(await rig.client.readUsageGroups({ query: { timeZone: "Mars/Olympus" } })).toMatchObject({
    error: { code: "invalid_request" },
  });
});
