import { says } from "@holdfast/testing/fakes/scripted-model";
import { expect, test } from "vitest";

import {
  openBot,
  openBotApi,
  startFakeBotApi,
  untilShown,
} from "../../../test/support/gateway/bot-rig.ts";

test("a group keeps its newest title across restarts, and a group without allowed people gets none", async () => {
  const platform = await startFakeBotApi();
  const rig = openBotApi(() => says("Here."));
  const first = openBot(rig, platform);
  const inGroup = (id: number, title: string) => ({ id, type: "supergroup", title });
  platform.say(-7, "@holdfast_bot hello", { chat: inGroup(-7, "Garden club") });
  await untilShown(platform, 1, -7);
  expect((await first.people()).chats).toEqual([{ chat: "-7", name: "Garden club" }]);
  platform.say(-99, "@holdfast_bot hello", { chat: inGroup(-99, "Strangers") });
  platform.say(-7, "@holdfast_bot again", { chat: inGroup(-7, `Pots ${"x".repeat(200)}`) });
  await untilShown(platform, 2, -7);
  await first.stop();
  const second = openBot(rig, platform);
  await second.whenOpen;
  expect((await second.people()).chats).toEqual([{ chat: "-7", name: `Pots ${"x".repeat(75)}` }]);
});
