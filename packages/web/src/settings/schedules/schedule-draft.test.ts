import { ids, type LaneKey, type ScheduleView } from "@holdfast/protocol";
import { expect, test } from "vitest";
import { laneName } from "../gateway/lane-name.ts";
import { draftToBody, draftFromSchedule, emptyDraft, parseTarget } from "./schedule-draft.ts";
import { describeNext, describeOutcome, describeTimes } from "./format-schedule.ts";

const session = ids.make("session");
const schedule: ScheduleView = {
  id: ids.make("schedule"),
  title: "Morning",
  prompt: "Hello",
  times: { days: ["mon", "wed"], at: ["08:00", "20:00"] },
  timeZone: "Asia/Tokyo",
  target: { sessionId: session },
  missed: "once",
  state: "on",
  createdAt: 0,
  nextAt: Date.parse("2026-11-18T23:00Z"),
  last: null,
  recent: [],
};

test("a schedule that is opened for editing and saved unchanged stays the same", () => {
  const { title, prompt, times, timeZone, missed, target } = schedule;
  const draft = draftFromSchedule(schedule, "2026-11-16");
  expect(draftToBody(draft)).toEqual({
    kind: "complete",
    body: { title, prompt, times, timeZone, missed, report: "always", spendLimit: null },
  });
  const spendLimit = { costMicros: 1_500_000, per: "week" } as const;
  expect(draftToBody(draftFromSchedule({ ...schedule, spendLimit }, "2026-11-16"))).toMatchObject({
    body: { spendLimit },
  });
  expect(draftToBody({ ...draft, limit: "0" })).toEqual({ kind: "missing", field: "limit" });
  expect(parseTarget(draft.where)).toEqual(target);
  const once = { ...schedule, times: { date: "2026-12-24", at: "18:00" } };
  expect(draftToBody(draftFromSchedule(once, "2026-11-16"))).toMatchObject({
    body: { times: once.times },
  });
  const others: readonly ScheduleView["times"][] = [
    { everyMinutes: 120, from: 60_000 },
    { everyMinutes: 45 },
    { cron: "0 8 * * mon-fri" },
  ];
  for (const each of others)
    expect(
      draftToBody(draftFromSchedule({ ...schedule, times: each, report: "changes" }, "2026-11-16")),
    ).toMatchObject({ body: { times: each, report: "changes" } });
});

test("a draft names what is missing, sorts its times without duplicates, and takes its title from the prompt", () => {
  const empty = emptyDraft("Europe/Berlin", "2026-11-16");
  const filled = {
    ...empty,
    prompt: "Look into the harbour log\nand tell me",
    at: ["20:00", "", "08:00", "20:00"],
  };
  expect(draftToBody(empty)).toEqual({ kind: "missing", field: "prompt" });
  expect(draftToBody({ ...filled, at: [""] })).toEqual({ kind: "missing", field: "times" });
  expect(draftToBody({ ...filled, days: [] })).toEqual({ kind: "missing", field: "days" });
  expect(draftToBody(filled)).toMatchObject({
    body: { title: "Look into the harbour log", times: { at: ["08:00", "20:00"] } },
  });
  expect(parseTarget("own")).toBeNull();
});

test("the next occurrence is described in words, in both time zones if they differ", () => {
  // As the other times on the page are written, wherever this runs.
  const clock = new Intl.DateTimeFormat(undefined, {
    hour: "numeric",
    minute: "2-digit",
    timeZone: "UTC",
  });
  const [morning, evening] = [8, 20].map((hour) => clock.format(hour * 3_600_000));
  expect(describeTimes(schedule)).toBe(`Every Mon, Wed at ${morning} and ${evening}`);
  expect(describeNext(schedule, "Asia/Tokyo")).not.toContain("here");
  expect(describeNext(schedule, "UTC")).toMatch(/ here, .* in Asia\/Tokyo$/);
  expect(describeNext({ ...schedule, state: "off", nextAt: null })).toBe("Paused");
});

test("an outcome is described in the time of its zone, even with an unknown refusal code", () => {
  const occurrence = { occurrence: "2026-11-18T08:00", at: 0 };
  expect(describeOutcome({ ...occurrence, outcome: "accepted" })).toMatch(/18.*8:00.*: sent$/);
  expect(describeOutcome({ ...occurrence, outcome: "history_live" })).toContain("history live");
});

test.each([
  ["telegram:42:p7:0", "Telegram: Ada"],
  ["telegram:42:p8:0", "Telegram: private chat 8"],
  ["telegram:42:g-100:5", "Telegram: group -100, topic 5"],
  ["telegram:42:g-200:0", "Telegram: Garden club"],
  ["telegram:42:g-200:5", "Telegram: Garden club, topic 5"],
  ["webhook:ci:nightly", "Webhook: ci:nightly"],
  ["pigeon:loft", "pigeon: loft"],
])("the lane %s is named %s", (lane, name) => {
  const people = [{ person: "7", name: "Ada", state: "allowed" as const, at: 0 }];
  const chats = [{ chat: "-200", name: "Garden club" }];
  expect(laneName(lane as LaneKey, { people, chats })).toBe(name);
});
