import type { Script } from "@holdfast/testing/fakes/scripted-model";
import { type ApiRigOptions, type ApiRig, openApi } from "../api-rig.ts";
import { type GatewayRigOptions, openGatewayOn, openFastTelegram } from "./gateway-rig.ts";
import { onTestFinished } from "vitest";

import { botToken, FakeBotApi } from "@holdfast/testing/telegram/fake-bot-api";

export async function startFakeBotApi(): Promise<FakeBotApi> {
  const platform = new FakeBotApi();
  await platform.start();
  onTestFinished(() => platform.stop());
  return platform;
}

export function openBotApi(script: Script, options: ApiRigOptions = {}): ApiRig {
  const rig = openApi(script, options);
  onTestFinished(() => rig.close());
  return rig;
}

/** A bot on the platform over the rig's store that allows person 7. */
export function openBot(rig: ApiRig, platform: FakeBotApi, rest: GatewayRigOptions = {}) {
  const gateway = openGatewayOn(rig, () => openFastTelegram(botToken, platform.address), rest);
  gateway.start();
  onTestFinished(() => gateway.stop());
  return gateway;
}

/** Resolves when the platform shows this many messages of the bot in the chat. */
export function untilShown(platform: FakeBotApi, count: number, chat = 7): Promise<void> {
  return new Promise((resolve) => {
    const look = () => {
      if (platform.shownIn(chat).length >= count) resolve();
    };
    platform.onShown = look;
    look();
  });
}

export const textsIn = (platform: FakeBotApi) => platform.shownIn(7).map(({ text }) => text);

export const chunksOf = ({ store, owner }: ApiRig) =>
  store.reads.outbox(owner, { states: ["unknown", "failed"], limit: 9 });
