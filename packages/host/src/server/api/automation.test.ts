import { laneKey } from "@holdfast/protocol";
import { expect, onTestFinished, test } from "vitest";

import { openApi } from "../../../test/support/api-rig.ts";
import { valueOf } from "../../../test/support/api-helpers.ts";
import { ScheduleStore } from "../../automation/schedules/schedule-store.ts";

function openRig() {
  const rig = openApi();
  onTestFinished(() => rig.close());
  return rig;
}

const body = {
  title: "Morning",
  prompt: "Summarise my inbox folder.",
  times: { days: ["mon" as const], at: ["08:00"] },
  timeZone: "Europe/Berlin",
};

test("a schedule is created once per key, changed, listed with its due time, and removed", async () => {
  const { client } = openRig();
  const { session } = valueOf(await client.createSession({ body: {} }));
  const asked = {
    body: { ...body, target: { sessionId: session.id } },
    headers: { "idempotency-key": "one" },
  };
  const { schedule } = valueOf(await client.createSchedule(asked));
  expect(valueOf(await client.createSchedule(asked)).schedule.id).toBe(schedule.id);
  expect(schedule).toMatchObject({ missed: "skip", state: "on", last: null });
  expect(new Date(schedule.nextAt ?? 0).getUTCDay()).toBe(1);
  const params = { id: schedule.id };
  const off = valueOf(await client.changeSchedule({ params, body: { state: "off" } }));
  expect(off.schedule).toMatchObject({ title: "Morning", state: "off", nextAt: null });
  expect(valueOf(await client.listSchedules()).schedules).toEqual([off.schedule]);
  expect((await client.removeSchedule({ params })).ok).toBe(true);
  expect(valueOf(await client.listSchedules()).schedules).toEqual([]);
  expect(await client.removeSchedule({ params })).toMatchObject({
    error: { code: "schedule_not_found" },
  });
});

test.each([
  ["webhook:ci", [{ kind: "webhook", name: "ci" }]],
  ["mcp:wiki", [{ kind: "mcp", name: "wiki" }]],
  ["web:page", []],
])("[safety] a schedule made in %s is tainted by %j", async (lane, taint) => {
  const { client, store, owner } = openRig();
  const { session } = valueOf(await client.createSession({ body: {} }));
  const madeIn = laneKey.parse(lane);
  const target = { sessionId: session.id };
  const { schedule } = valueOf(await client.createSchedule({ body: { ...body, target, madeIn } }));
  const stored = await new ScheduleStore(store.register, () => store.now()).find(
    owner,
    schedule.id,
  );
  expect(stored?.maker).toMatchObject({ lane, taint });
});

test.each([
  [{ timeZone: "Europe/Atlantis" }, "invalid_request"],
  [{ target: { lane: "web:home" } }, "invalid_request"],
  [{ target: { lane: "telegram:1:p404:0" } }, "lane_not_found"],
  [{ times: { date: "2020-02-28", at: "08:00" } }, "invalid_request"],
  [{ target: { sessionId: "ses_01m7h5tg9zfxet310yeh2qdba7" } }, "session_not_found"],
  [{ times: { days: [], at: ["08:00"] } }, "invalid_request"],
  [{ times: { days: ["mon"], at: ["24:00"] } }, "invalid_request"],
  [{ times: { date: "2026-02-30", at: "08:00" } }, "invalid_request"],
  [{ prompt: " " }, "invalid_request"],
  [{ every: "day" }, "invalid_request"],
])("%j is refused as %s", async (wrong, code) => {
  const { ask, log, owner } = openRig();
  await log.createSession({ owner, lane: laneKey.parse("telegram:1:p7:0") });
  const sent = { ...body, target: { lane: "telegram:1:p7:0" }, ...wrong };
  const answer = await ask("POST", "/api/schedules", sent);
  expect(await answer.json()).toMatchObject({ code });
});

test("a schedule runs now once per key, in its session, and keeps its due times", async () => {
  const { client } = openRig();
  const { session } = valueOf(await client.createSession({ body: {} }));
  const target = { sessionId: session.id };
  const made = valueOf(await client.createSchedule({ body: { ...body, target } })).schedule;
  const asked = { params: { id: made.id }, headers: { "idempotency-key": "now" } };
  const first = valueOf(await client.runSchedule(asked));
  expect(valueOf(await client.runSchedule(asked))).toEqual(first);
  expect(first).toMatchObject({
    sessionId: session.id,
    schedule: {
      nextAt: made.nextAt,
      recent: [{ occurrence: "now", outcome: "accepted", sessionId: session.id }],
    },
  });
  const messages = async () => {
    const { entries } = valueOf(await client.readSession({ params: { id: session.id } }));
    return entries.flatMap((entry) =>
      entry.type === "message" ? [[entry.role, entry.parts]] : [],
    );
  };
  const text = `[a scheduled prompt, asked for now]\n\n${body.prompt}`;
  await expect.poll(messages).toContainEqual(["user", [{ type: "text", text }]]);
  expect((await messages()).filter(([role]) => role === "user")).toHaveLength(1);
});

test("a schedule whose session is in the trash does not run, and records nothing", async () => {
  const { client } = openRig();
  const { session } = valueOf(await client.createSession({ body: {} }));
  const target = { sessionId: session.id };
  const { id } = valueOf(await client.createSchedule({ body: { ...body, target } })).schedule;
  await client.trashSession({ params: { id: session.id } });
  expect(await client.runSchedule({ params: { id } })).toMatchObject({
    error: { code: "session_trashed" },
  });
  expect(valueOf(await client.listSchedules()).schedules).toMatchObject([{ recent: [] }]);
});

test("a schedule for a known chat is accepted, and none can be moved to a past time", async () => {
  const { client, log, owner } = openRig();
  const lane = laneKey.parse("telegram:1:p7:0");
  await log.createSession({ owner, lane });
  const made = await client.createSchedule({ body: { ...body, target: { lane } } });
  const params = { id: valueOf(made).schedule.id };
  const past = { times: { date: "2020-02-28", at: "08:00" } };
  expect(await client.changeSchedule({ params, body: past })).toMatchObject({
    error: { code: "invalid_request" },
  });
  const later = { times: { date: "2120-02-28", at: "08:00" } };
  expect((await client.changeSchedule({ params, body: later })).ok).toBe(true);
});
