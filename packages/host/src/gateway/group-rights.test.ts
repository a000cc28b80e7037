import { createTool, okResult } from "@holdfast/testing/rigs/run-rig";
import { calls, says } from "@holdfast/testing/fakes/scripted-model";
import { rightsSubject } from "@holdfast/protocol";
import { expect, test } from "vitest";

import {
  openBot,
  openBotApi,
  startFakeBotApi,
  untilShown,
} from "../../test/support/gateway/bot-rig.ts";
import { valueOf } from "../../test/support/api-helpers.ts";
import { openRightsStore } from "../rights/rights-store.ts";

async function open() {
  const platform = await startFakeBotApi();
  let paid = 0;
  const pay = createTool("pay", async () => okResult(`paid ${++paid}`), {
    approval: () => "ask",
  });
  const rig = openBotApi([calls("pay", { euros: 5 }), says("Paid."), says("More.")], {
    tools: [pay],
  });
  openBot(rig, platform);
  const inGroup = { from: { id: 7, is_bot: false, first_name: "Ann" } };
  const payments = () => paid;
  return { platform, rig, inGroup, payments };
}

test("[safety] a group shows an open approval but cannot answer it, not even with a forged button press", async () => {
  const { platform, rig, inGroup, payments } = await open();
  platform.say(-7, "@holdfast_bot pay", inGroup);
  await untilShown(platform, 1, -7);
  const [shown] = platform.shownIn(-7);
  expect([shown?.buttons, shown?.text]).toEqual([[], expect.stringContaining("on the page")]);
  const [approval] = (await rig.store.reads.approvals(rig.owner, { limit: 1 })).approvals;
  const forged = { ...shown!, buttons: [{ text: "Allow once", data: `a:o:${approval?.id}` }] };
  platform.press(-7, forged, "Allow once", 7);
  await expect.poll(() => platform.acknowledged).toHaveLength(1);
  expect(platform.acknowledged[0]?.text).toContain("cannot be answered here");
  expect([payments(), (await rig.store.reads.approval(rig.owner, approval!.id))?.state]).toEqual([
    0,
    "open",
  ]);
});

test("[safety] a group neither lists nor resumes the owner's other sessions, which a private chat does", async () => {
  const { platform, rig, inGroup } = await open();
  const body = { title: "Private plans" };
  const { id } = valueOf(await rig.client.createSession({ body })).session;
  const lastIn = (chat: number) => platform.shownIn(chat).at(-1)?.text;
  platform.say(-7, "/sessions@holdfast_bot", inGroup);
  await untilShown(platform, 1, -7);
  expect(lastIn(-7)).not.toContain("Private plans");
  platform.say(-7, `/resume@holdfast_bot ${id}`, inGroup);
  await untilShown(platform, 2, -7);
  expect(lastIn(-7)).toContain("No session fits");
  platform.say(7, "/sessions");
  await untilShown(platform, 1, 7);
  expect(lastIn(7)).toContain("Private plans");
});

test("a private chat answers approvals, and so does a group whose profile allows it", async () => {
  const { platform, rig, inGroup, payments } = await open();
  const rights = openRightsStore(rig.store.register);
  const lane = rightsSubject.parse("lane:telegram:424242:g-7:0");
  expect(await rights.assign(rig.owner, lane, "owner")).toBe("kept");
  platform.say(-7, "@holdfast_bot pay", inGroup);
  await untilShown(platform, 1, -7);
  const [shown] = platform.shownIn(-7);
  expect(shown?.buttons.map(({ text }) => text)).toContain("Allow once");
  platform.press(-7, shown!, "Allow once", 7);
  await expect.poll(payments).toBe(1);
});

test("an approval that was answered elsewhere loses its buttons in the chat, and is no longer open", async () => {
  const { platform, rig, payments } = await open();
  platform.say(7, "Pay");
  await untilShown(platform, 1, 7);
  const { approvals } = valueOf(await rig.client.listApprovals());
  const params = { id: approvals[0]!.approvalId };
  valueOf(await rig.client.answerApproval({ params, body: { decision: "deny" } }));
  const shown = () => platform.shownIn(7).find(({ text }) => text.includes("wants to run"));
  await expect.poll(() => shown()?.text).toContain("Denied");
  expect([shown()?.buttons, payments()]).toEqual([[], 0]);
  expect(valueOf(await rig.client.listApprovals()).approvals).toEqual([]);
});
