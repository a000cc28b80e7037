import { calls, says } from "@holdfast/testing/fakes/scripted-model";
import { openWebhookReceiver } from "@holdfast/testing/host/webhook-receiver";
import { expect, onTestFinished, test } from "vitest";

import {
  openBot,
  openBotApi,
  startFakeBotApi,
  untilShown,
} from "../../test/support/gateway/bot-rig.ts";
import { openWebhookRig, testWebhook } from "../../test/support/gateway/webhook-rig.ts";
import { createSubmitPlan } from "../agent/tools/submit-plan.ts";

const plan = "1. Write note.txt";

async function open(script: Parameters<typeof openBotApi>[0]) {
  const platform = await startFakeBotApi();
  const rig = openBotApi(script, { tools: [createSubmitPlan()] });
  openBot(rig, platform);
  const { reads } = rig.store;
  const only = async () => {
    const page = await reads.sessions(rig.owner, { limit: 1 });
    return page.sessions[0];
  };
  const approvals = async () => (await reads.approvals(rig.owner, { limit: 1 })).approvals;
  return { platform, rig, only, approvals };
}

const inGroup = { from: { id: 7, is_bot: false, first_name: "Ann" } };
const lastIn = (platform: Awaited<ReturnType<typeof startFakeBotApi>>, chat: number) =>
  platform.shownIn(chat).at(-1)?.text;

test("a private chat reads and switches its session's mode with /mode", async () => {
  const { platform, only } = await open([says("Hello.")]);
  platform.say(7, "Hello");
  await untilShown(platform, 1);
  platform.say(7, "/mode edits");
  await expect.poll(() => lastIn(platform, 7)).toContain("The mode is now edits.");
  expect((await only())?.mode).toBe("edits");
  platform.say(7, "/mode");
  await expect.poll(() => lastIn(platform, 7)).toContain("The mode is edits.");
  platform.say(7, "/mode everything");
  await expect.poll(() => lastIn(platform, 7)).toContain("/mode takes one of");
  expect((await only())?.mode).toBe("edits");
});

test("[safety] a group may narrow its session's mode, and cannot widen it", async () => {
  const { platform, only } = await open([says("Hello.")]);
  platform.say(-7, "@holdfast_bot Hello", inGroup);
  await untilShown(platform, 1, -7);
  platform.say(-7, "/mode@holdfast_bot full", inGroup);
  await expect.poll(() => lastIn(platform, -7)).toContain("cannot switch to a wider mode");
  expect((await only())?.mode).toBeNull();
  platform.say(-7, "/mode@holdfast_bot plan", inGroup);
  await expect.poll(() => lastIn(platform, -7)).toContain("The mode is now plan.");
  platform.say(-7, "/mode@holdfast_bot ask", inGroup);
  await expect.poll(() => lastIn(platform, -7)).toContain("cannot switch to a wider mode");
  expect((await only())?.mode).toBe("plan");
});

test("a plan is approved with a button of a private chat, and the run goes on in the chosen mode", async () => {
  const { platform, only } = await open([
    says("Hello."),
    calls("submit_plan", { plan }),
    says("Done."),
  ]);
  platform.say(7, "Hello");
  await untilShown(platform, 1);
  platform.say(7, "/mode plan");
  await expect.poll(async () => (await only())?.mode).toBe("plan");
  platform.say(7, "Plan it");
  await expect.poll(() => lastIn(platform, 7)).toContain(plan);
  const shown = platform.shownIn(7).at(-1);
  expect(shown?.buttons.map(({ text }) => text)).toEqual([
    "Approve, and ask before changes",
    "Approve, and accept edits",
    "Don't approve",
  ]);
  platform.press(7, shown!, "Approve, and accept edits");
  await expect.poll(() => lastIn(platform, 7)).toBe("Done.");
  expect((await only())?.mode).toBe("edits");
});

test("words in a private chat comment on a plan, and the session stays in plan mode", async () => {
  const { platform, rig, only } = await open([
    says("Hello."),
    calls("submit_plan", { plan }),
    says("I see."),
  ]);
  platform.say(7, "Hello");
  await untilShown(platform, 1);
  platform.say(7, "/mode plan");
  platform.say(7, "Plan it");
  await expect.poll(() => lastIn(platform, 7)).toContain(plan);
  platform.say(7, "Yes, but smaller");
  await expect.poll(() => lastIn(platform, 7)).toBe("I see.");
  expect(JSON.stringify(rig.model.requests.at(-1))).toContain("Yes, but smaller");
  expect((await only())?.mode).toBe("plan");
});

test("[safety] a group approves no plan: not by words, and not with a forged press", async () => {
  const { platform, rig, only, approvals } = await open([
    says("Hello."),
    calls("submit_plan", { plan }),
    says("More."),
  ]);
  platform.say(-7, "@holdfast_bot Hello", inGroup);
  await untilShown(platform, 1, -7);
  platform.say(-7, "/mode@holdfast_bot plan", inGroup);
  platform.say(-7, "@holdfast_bot Plan it", inGroup);
  await expect.poll(() => lastIn(platform, -7)).toContain("cannot be approved here");
  const shown = platform.shownIn(-7).at(-1);
  expect(shown?.buttons).toEqual([]);
  const [waiting] = await approvals();
  platform.say(-7, "@holdfast_bot approve edits", inGroup);
  for (const data of [`q:1:${waiting?.id}`, `a:o:${waiting?.id}`])
    platform.press(-7, { ...shown!, buttons: [{ text: "Approve", data }] }, "Approve", 7);
  await expect.poll(() => platform.acknowledged).toHaveLength(2);
  for (const { text } of platform.acknowledged) expect(text).toContain("cannot be answered here");
  expect([(await only())?.mode, (await approvals())[0]?.state]).toEqual(["plan", "open"]);
  expect(rig.model.requests).toHaveLength(2);
});

test("[safety] a plan that a chat cannot show whole is approved there neither by a button nor by words", async () => {
  const long = `${"word ".repeat(700)}and delete everything`;
  const { platform, only, approvals } = await open([
    says("Hello."),
    calls("submit_plan", { plan: long }),
  ]);
  platform.say(7, "Hello");
  await untilShown(platform, 1);
  platform.say(7, "/mode plan");
  platform.say(7, "Plan it");
  await expect.poll(() => lastIn(platform, 7)).toContain("more characters");
  const shown = platform.shownIn(7).at(-1);
  expect(shown?.buttons.map(({ text }) => text)).toEqual(["Don't approve"]);
  const [waiting] = await approvals();
  const forged = { ...shown!, buttons: [{ text: "Approve", data: `q:0:${waiting?.id}` }] };
  platform.press(7, forged, "Approve");
  await expect.poll(() => platform.acknowledged).toHaveLength(1);
  platform.say(7, "approve");
  await expect.poll(() => lastIn(platform, 7)).toContain("too long to show here in full");
  expect([(await only())?.mode, (await approvals())[0]?.state]).toEqual(["plan", "open"]);
});

test("[safety] a program's /mode cannot widen the mode, even where the command is configured", async () => {
  const receiver = await openWebhookReceiver();
  const rig = openWebhookRig([says("Hello.")], testWebhook(receiver.url, { commands: ["mode"] }));
  onTestFinished(async () => {
    await rig.close();
    await receiver.close();
  });
  await rig.say("msg-1", { text: "Hello" });
  await receiver.until(1);
  await rig.say("msg-2", { text: "/mode full" });
  await receiver.until(2);
  expect(receiver.taken[1]?.message["text"]).toContain("cannot switch to a wider mode");
});
