import { systemClock, type Leases } from "@holdfast/engine";
import { ids, ownerRights } from "@holdfast/protocol";
import { gate, says } from "@holdfast/testing/fakes/scripted-model";
import { aHolder } from "@holdfast/testing/fixtures/factories";
import { botToken } from "@holdfast/testing/telegram/fake-bot-api";
import { expect, onTestFinished, test } from "vitest";

import {
  openBot,
  openBotApi,
  startFakeBotApi,
  textsIn,
} from "../../../test/support/gateway/bot-rig.ts";
import { openFastTelegram } from "../../../test/support/gateway/gateway-rig.ts";
import { chatAddressing } from "../lanes.ts";
import { Dispatcher } from "./dispatcher.ts";

const leaseMs = 1_000;
/** Enough for a second message. */
const rest = "three ".repeat(1_000);
const patience = { interval: 20, timeout: 20_000 };

test("[P11] an edit that arrives after another host's last one is replaced by the whole answer", async () => {
  const platform = await startFakeBotApi();
  const [mayGrow, mayEnd, isOnItsWay, mayArrive] = Array.from({ length: 4 }, () =>
    Promise.withResolvers<void>(),
  );
  const rig = openBotApi([
    [says("One "), gate(mayGrow!.promise), says("two "), gate(mayEnd!.promise), says(rest)],
  ]);
  const shown: string[] = [];
  platform.onShown = ({ text }) => void shown.push(text);
  platform.faults.before = async (method, { text }) => {
    if (method !== "editMessageText" || /three/.test(String(text))) return;
    isOnItsWay!.resolve();
    await mayArrive!.promise;
  };
  const { store } = rig.log;
  let isFrozen = false;
  const renew: Leases["renew"] = async (...leases) =>
    isFrozen ? new Promise(() => {}) : store.leases.renew(...leases);
  openBot(rig, platform, {
    log: { ...rig.log, store: { ...store, leases: { ...store.leases, renew } } },
    leaseMs,
  });
  platform.say(7, "Count");
  await expect.poll(() => textsIn(platform), patience).toEqual(["One"]);
  mayGrow!.resolve();
  await isOnItsWay!.promise;
  isFrozen = true;
  mayEnd!.resolve();

  const next = new Dispatcher({
    log: rig.log,
    ids,
    clock: systemClock,
    holder: () => aHolder(),
    liveness: { isDead: () => "unknown" },
    leaseMs,
    adapter: await openFastTelegram(botToken, platform.address),
    addressing: chatAddressing("telegram", botToken.split(":")[0] ?? ""),
    rights: { ofLane: async () => ownerRights },
    sweepMs: 50,
    onError: (error) => void rig.bugs.push(new Error(String(error))),
  });
  const stopping = new AbortController();
  const running = next.run(stopping.signal);
  onTestFinished(async () => {
    stopping.abort();
    await running;
  });
  const isDelivered = async () => {
    const open = { states: ["pending", "sending"], limit: 9 } as const;
    return (await rig.store.reads.outbox(rig.owner, open)).length === 0;
  };
  await expect.poll(isDelivered, patience).toBe(true);
  const whole = textsIn(platform);
  expect(whole.join(" ")).toMatch(/^One two( three)+$/);
  expect(whole).toHaveLength(2);

  mayArrive!.resolve();
  await expect.poll(() => shown.slice(-2), patience).toEqual(["One two", whole[0]]);
  await expect.poll(isDelivered, patience).toBe(true);
  expect(textsIn(platform)).toEqual(whole);
});
