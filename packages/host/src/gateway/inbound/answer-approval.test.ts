import { systemClock } from "@holdfast/engine";
import { createTool, okResult } from "@holdfast/testing/rigs/run-rig";
import { calls, says } from "@holdfast/testing/fakes/scripted-model";
import type { ApiRig } from "../../../test/support/api-rig.ts";
import { ids, laneKey } from "@holdfast/protocol";
import { expect, onTestFinished, test } from "vitest";

import {
  openBot,
  openBotApi,
  startFakeBotApi,
  untilShown,
} from "../../../test/support/gateway/bot-rig.ts";
import { botToken, type FakeBotApi } from "@holdfast/testing/telegram/fake-bot-api";
import { sessionForLane } from "../lanes.ts";
import { openRightsResolver } from "../../rights/resolve-rights.ts";
import { createScheduler } from "../../automation/schedules/scheduler.ts";
import { ScheduleStore } from "../../automation/schedules/schedule-store.ts";

const choices = ["red", "blue"];

type StartRun = (rig: ApiRig, platform: FakeBotApi) => Promise<void>;

const byMessage: StartRun = async (_, platform) => void platform.say(7, "Paint it");

/** A prompt due this minute, in person 7's chat. */
const bySchedule: StartRun = async ({ log, owner, store, runner, bugs }) => {
  const schedules = new ScheduleStore(store.register, async () => Date.now() - 600_000);
  const [date = "", at = ""] = new Date().toISOString().slice(0, 16).split("T");
  await schedules.create(owner, ids.make("schedule"), {
    title: "Colours",
    prompt: "Paint it",
    times: { date, at },
    timeZone: "UTC",
    target: { lane: laneKey.parse(`telegram:${botToken.split(":")[0]}:p7:0`) },
  });
  const scheduler = createScheduler({
    log,
    ids,
    clock: systemClock,
    owner,
    store: schedules,
    runner,
    sessionFor: (of, lane, key) => sessionForLane({ log, owner: of }, lane, key),
    rights: openRightsResolver(store.register),
    report: (bug) => void bugs.push(bug),
  });
  scheduler.start();
  onTestFinished(() => scheduler.stop());
};

/** A bot whose model asks person 7 for a colour. `given` records the answers the tool received. */
async function openQuestion(startRun = byMessage) {
  const platform = await startFakeBotApi();
  const given: (string | undefined)[] = [];
  const ask = createTool(
    "ask_user",
    async ({ answer }) => {
      given.push(answer);
      return okResult(`They said ${answer}`);
    },
    { approval: () => "question" },
  );
  const question = calls("ask_user", { question: "Which colour?", choices });
  const rig = openBotApi([question, says("Thank you."), says("Something else.")], { tools: [ask] });
  const bot = openBot(rig, platform, { allowedPeople: ["7", "8"] });
  await startRun(rig, platform);
  await untilShown(platform, 1);
  const questionMessage = platform.shownIn(7)[0]!;
  const { reads } = rig.store;
  const [open] = (await reads.approvals(rig.owner, { limit: 1 })).approvals;
  const answeredBy = async () => (await reads.approval(rig.owner, open!.id))?.details.by;
  return { platform, given, rig, bot, asked: questionMessage, answeredBy };
}

test("a question offers its choices as buttons, and pressing one continues the run", async () => {
  const { platform, given, asked: questionMessage, answeredBy } = await openQuestion();
  expect(questionMessage.text).toContain("Which colour?");
  expect(questionMessage.buttons.map(({ text }) => text)).toEqual([...choices, "Skip"]);
  platform.press(7, questionMessage, "blue", 8);
  platform.press(7, questionMessage, "blue");
  await untilShown(platform, 2);
  expect(given).toEqual(["blue"]);
  expect(questionMessage.text).toContain("✔ blue");
  expect(questionMessage.buttons).toEqual([]);
  expect(await answeredBy()).toBe("telegram:7");
});

test("[P11] text sent while a question is open answers it and starts no turn, even when redelivered", async () => {
  const { platform, given, rig, asked: questionMessage, answeredBy } = await openQuestion();
  const id = platform.say(7, "Green, please");
  await untilShown(platform, 2);
  expect(given).toEqual(["Green, please"]);
  expect(await answeredBy()).toBe("telegram:7");
  await expect.poll(() => questionMessage.text).toContain("✔ Green, please");
  platform.say(7, "Green, please", { message_id: id });
  platform.say(7, "And now?");
  await untilShown(platform, 3);
  expect(
    platform
      .shownIn(7)
      .map(({ text }) => text)
      .slice(1),
  ).toEqual(["Thank you.", "Something else."]);
  expect(rig.model.requests).toHaveLength(3);
});

test("a question from a scheduled run can be answered in its chat", async () => {
  const { platform, given, asked: questionMessage, answeredBy } = await openQuestion(bySchedule);
  platform.press(7, questionMessage, "blue");
  await untilShown(platform, 2);
  expect(given).toEqual(["blue"]);
  expect(await answeredBy()).toBe("telegram:7");
});

test("a question is asked once, even by a bot that restarts while it is open", async () => {
  const { platform, rig, bot, given } = await openQuestion();
  await bot.stop();
  openBot(rig, platform, { allowedPeople: ["7", "8"] });
  platform.press(7, platform.shownIn(7)[0]!, "blue");
  await expect.poll(() => given).toEqual(["blue"]);
  await expect.poll(() => platform.shownIn(7).at(-1)?.text).toBe("Thank you.");
  expect(platform.shownIn(7)).toHaveLength(2);
});
