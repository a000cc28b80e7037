import { rightsSubject } from "@holdfast/protocol";
import { says } from "@holdfast/testing/fakes/scripted-model";
import { expect, test } from "vitest";

import {
  openBot,
  openBotApi,
  startFakeBotApi,
  untilShown,
} from "../../test/support/gateway/bot-rig.ts";
import { openRightsStore } from "../rights/rights-store.ts";

async function open() {
  const platform = await startFakeBotApi();
  const rig = openBotApi([says("Hello."), says("Hello.")]);
  openBot(rig, platform);
  const lastIn = (chat: number) => platform.shownIn(chat).at(-1)?.text;
  return { platform, rig, lastIn };
}

test("/undo files and /redo files say what was done with the conversation and with the files", async () => {
  const { platform, lastIn } = await open();
  platform.say(7, "Hello");
  await untilShown(platform, 1);
  platform.say(7, "/undo files");
  await expect.poll(() => lastIn(7)).toContain("Last turn undone");
  expect(lastIn(7)).toContain("No files were restored.");
  platform.say(7, "/redo files only");
  await expect.poll(() => lastIn(7)).toContain("No files were put back since the last message.");
});

test("[safety] a chat that may not write files cannot put them back", async () => {
  const { platform, rig, lastIn } = await open();
  const rights = openRightsStore(rig.store.register);
  const fields = { sessions: "own", memory: "none", approvals: false } as const;
  await rights.put(rig.owner, { name: "readers", tools: ["read_file"], ...fields });
  await rights.assign(rig.owner, rightsSubject.parse("groups"), "readers");
  const inGroup = { from: { id: 7, is_bot: false, first_name: "Ann" } };
  platform.say(-7, "@holdfast_bot Hello", inGroup);
  await untilShown(platform, 1, -7);
  for (const command of ["undo@holdfast_bot files", "redo@holdfast_bot files only"]) {
    platform.say(-7, `/${command}`, inGroup);
    await expect.poll(() => lastIn(-7)).toContain("write_file");
    platform.say(-7, "/undo@holdfast_bot", inGroup);
    await expect.poll(() => lastIn(-7)).not.toContain("write_file");
  }
});
