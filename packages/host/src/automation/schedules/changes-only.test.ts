import { calls, says } from "@holdfast/testing/fakes/scripted-model";
import { createTool, okResult } from "@holdfast/testing/rigs/run-rig";
import { botToken } from "@holdfast/testing/telegram/fake-bot-api";
import { anEvent, aRunId } from "@holdfast/testing/fixtures/factories";
import { openTestSession, TestSession } from "@holdfast/testing/fixtures/open-session";
import { createReferenceStore } from "@holdfast/testing/reference-store/store";
import { ids, laneKey, type TaintSource } from "@holdfast/protocol";
import { expect, test } from "vitest";
import {
  openBot,
  openBotApi,
  startFakeBotApi,
  textsIn,
  untilShown,
} from "../../../test/support/gateway/bot-rig.ts";
import { valueOf } from "../../../test/support/api-helpers.ts";
import { askForChanges, comparedReport, isUnchanged, readLastReport } from "./changes-only.ts";

async function openReports(
  answers: Parameters<typeof openBotApi>[0],
  taint: readonly TaintSource[] = [],
) {
  const platform = await startFakeBotApi();
  const look = createTool("look", async () => okResult("seen"), { taint: () => taint });
  const rig = openBotApi(answers, { tools: [look] });
  openBot(rig, platform);
  platform.say(7, "Hello");
  await untilShown(platform, 1);
  const { schedule } = valueOf(
    await rig.client.createSchedule({
      body: {
        title: "Wind",
        prompt: "How is the wind?",
        times: { everyMinutes: 60 },
        timeZone: "UTC",
        target: { lane: laneKey.parse(`telegram:${botToken.split(":")[0]}:p7:0`) },
        report: "changes",
      },
    }),
  );
  /** Runs it once, to the end of its answer. */
  async function report(): Promise<string> {
    const ran = valueOf(await rig.client.runSchedule({ params: { id: schedule.id } }));
    const params = { id: ran.sessionId };
    const read = async () => valueOf(await rig.client.readSession({ params }));
    await expect.poll(async () => (await read()).session.liveRun).toBeNull();
    await expect.poll(async () => (await read()).inbox).toEqual([]);
    await expect
      .poll(() => rig.store.reads.outbox(rig.owner, { states: ["pending", "sending"], limit: 9 }))
      .toEqual([]);
    return (await read()).session.preview;
  }
  return { platform, rig, report };
}

test("a chat gets a report only if it says something new; the conversation has them all", async () => {
  const { platform, rig, report } = await openReports([
    says("Hello."),
    says("North, 5 knots."),
    says("Nothing new."),
    says("North,  5 knots.\n"),
    says("South, 7 knots."),
  ]);
  const quiet = async () => valueOf(await rig.client.listSchedules()).schedules[0]?.quiet;
  expect(await report()).toBe("North, 5 knots.");
  expect(await quiet()).toBeUndefined();
  const { sortAt: saidAt } = valueOf(await rig.client.listSessions({})).sessions[0]!;
  expect(await report()).toBe("Nothing new.");
  const nothing = await quiet();
  await report();
  // The page marks none of both as unread, and keeps the mark of a report before them that nobody has read.
  const repeated = await quiet();
  expect([nothing?.newsAt, repeated?.newsAt]).toEqual([repeated?.newsAt, nothing?.newsAt]);
  expect(repeated?.newsAt).toBeLessThanOrEqual(saidAt);
  expect(repeated?.newsAt).toBeGreaterThan(0);
  expect(repeated?.until).toBeGreaterThanOrEqual(nothing?.until ?? Infinity);
  expect(await report()).toBe("South, 7 knots.");
  expect(await quiet()).toBeUndefined();
  expect(textsIn(platform)).toEqual(["Hello.", "North, 5 knots.", "South, 7 knots."]);
  const dropped = await rig.store.reads.outbox(rig.owner, { states: ["dropped"], limit: 9 });
  expect(dropped.map(({ code }) => code)).toEqual(["nothing_new", "nothing_new"]);
  const asked = rig.model.requests.map(({ messages }) => JSON.stringify(messages.at(-1)));
  expect(asked[1]).toContain("There is no earlier report");
  // Compared with what was last delivered, not with what was left out.
  for (const later of [2, 3, 4]) expect(asked[later]).toContain("report:]\\nNorth, 5 knots.");
  expect(rig.bugs).toEqual([]);
});

test("[safety] a report that a stranger may have written stays marked in a later conversation", async () => {
  const web = [{ kind: "web", name: "wind.example" }] as const;
  const { platform, rig, report } = await openReports(
    [says("Hello."), calls("look", {}), says("North, 5 knots."), says("South.")],
    web,
  );
  await report();
  platform.say(7, "/new");
  await untilShown(platform, 3);
  await report();
  const { sessions } = valueOf(await rig.client.listSessions({ query: { limit: 9 } }));
  const marked = await Promise.all(
    sessions.map(async ({ id }) => {
      const { entries } = valueOf(await rig.client.readSession({ params: { id } }));
      return JSON.stringify(entries.find(({ type }) => type === "message"));
    }),
  );
  const asked = marked.filter((entry) => entry.includes("North, 5 knots."));
  expect(asked).toHaveLength(1);
  expect(asked[0]).toContain(JSON.stringify(web));
});

test("a report that broke off is not what the next one is compared with", async () => {
  const store = createReferenceStore();
  const { owner, session } = await openTestSession(store);
  const chat = new TestSession(store, { owner, session });
  const schedule = ids.make("schedule");
  async function report(text: string, more: { readonly partial?: "cancelled" } = {}) {
    const runId = aRunId();
    const parts = [{ type: "text" as const, text: askForChanges("How is the wind?", null) }];
    const clientId = `schedule:${schedule}:${runId}`;
    const said = { messageId: ids.make("message"), parts: [{ type: "text" as const, text }] };
    await chat.commit([
      anEvent("message.user", { messageId: ids.make("message"), parts, clientId }, runId),
      anEvent("message.assistant", { ...said, ...more }, runId),
    ]);
  }
  await report("North, 5 knots.");
  await report("South, 7", { partial: "cancelled" });
  expect(await readLastReport(store.reads, owner, session, schedule)).toMatchObject({
    text: "North, 5 knots.",
  });
});

test("only the last words decide, whatever was said before a tool", async () => {
  const { platform, report } = await openReports([
    says("Hello."),
    [says("I look at the wind.").slice(0, 1), calls("look", {})],
    says("**Nothing new**"),
    says("A storm."),
  ]);
  await report();
  await report();
  expect(textsIn(platform)).toEqual(["Hello.", "A storm."]);
});

test("a report that quotes the instructions is compared as a whole", () => {
  const report = askForChanges("Look around", "An earlier report");
  const message = askForChanges("How is the wind?", report);
  expect(comparedReport(`[scheduled]\n\n${askForChanges("Look", "North\n\nand cold")}`)).toBe(
    "North\n\nand cold",
  );
  expect(comparedReport(message)).not.toBeUndefined();
  expect(comparedReport("How is the wind?")).toBeUndefined();
});

test("a report that was cut is never taken for the same", () => {
  const long = "word ".repeat(2_000);
  const compared = comparedReport(askForChanges("Look", long));
  expect(compared).toBeNull();
  expect(isUnchanged(long, compared ?? null)).toBe(false);
});
