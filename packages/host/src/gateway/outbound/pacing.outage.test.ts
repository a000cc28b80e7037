import { gate, says } from "@holdfast/testing/fakes/scripted-model";
import { manualClock, nextTurn } from "@holdfast/testing/fakes/manual-clock";
import { outboxState } from "@holdfast/protocol";
import { expect, onTestFinished, test } from "vitest";

import { type Away, SimulatedPlatform } from "../../../test/support/gateway/simulated-platform.ts";
import { openApi } from "../../../test/support/api-rig.ts";
import { openGatewayOn } from "../../../test/support/gateway/gateway-rig.ts";
import { unknownNotice } from "./chunk.ts";
import type { ChatAddress } from "../adapter.ts";

const place = (chat: number): ChatAddress => ({
  chat: String(chat),
  thread: null,
  kind: chat < 0 ? "group" : "private",
});
const chats = [...Array.from({ length: 16 }, (_, index) => 101 + index), -1, -2, -3, -4];
const words = (chat: number, each: string) => `${each} of ${chat}`;
const asked = ["one", "two", "three"];

/** Bots, chats and a platform in simulated time; what people said is answered with the same words. */
function openOutage() {
  const clock = manualClock();
  const platform = new SimulatedPlatform(clock);
  /** Nothing is answered before then. */
  const begun = Promise.withResolvers<void>();
  const rig = openApi(
    ({ messages }) => {
      const last = messages.findLast(({ role }) => role === "user");
      const said = last?.role === "user" ? last.text.replace(/^\w+: /, "") : "";
      return [gate(begun.promise), says(`Answer to ${said}`)];
    },
    { storeClock: () => clock.now() + 1_000_000 },
  );
  onTestFinished(() => rig.close());
  const rest = { clock, listed: ["7"] };
  const gateway = openGatewayOn(rig, async () => platform.adapter, rest);
  gateway.start();
  onTestFinished(async () => {
    const stopped = gateway.stop();
    await clock.advance(60_000);
    await stopped;
  });
  async function pass(ms: number, step = 100): Promise<void> {
    for (let passed = 0; passed < ms; passed += step) {
      await clock.advance(step);
      for (let each = 0; each < 4; each += 1) await nextTurn();
    }
  }
  const owed = async (states = outboxState.options) =>
    rig.store.reads.outbox(rig.owner, { states, limit: 10_000 });
  return { clock, platform, rig, begin: begun.resolve, pass, owed };
}

function checkLimits(calls: readonly { readonly at: number; readonly place: ChatAddress }[]): void {
  for (const each of chats) {
    const times = calls.filter((call) => call.place.chat === String(each)).map(({ at }) => at);
    const gaps = times.slice(1).map((at, index) => at - times[index]!);
    expect(Math.min(...gaps)).toBeGreaterThanOrEqual(each < 0 ? 3_000 : 1_000);
  }
  for (const { at } of calls)
    expect(calls.filter((call) => call.at >= at && call.at < at + 1_000).length).toBeLessThan(31);
}

test.each<Away>(["fails", "cuts"])(
  "[P11] after ten minutes in which the platform %s all that was owed comes in its order, at the platform's pace",
  async (away) => {
    const { clock, platform, rig, begin, pass, owed } = openOutage();
    await pass(200);
    const [first] = asked;
    for (const chat of chats) platform.say(place(chat), words(chat, first!));
    await pass(200);
    await expect.poll(async () => (await owed()).length).toBe(chats.length);
    platform.away = away;
    begin();
    await expect.poll(() => rig.model.requests.length).toBe(chats.length);
    await pass(600_000, 1_000);
    // Whether it is there is asked without giving it things of which nobody would know whether they arrived.
    expect(platform.shown).toEqual([]);
    expect(platform.asked.length).toBeLessThan(chats.length);
    platform.away = null;
    const back = clock.now();
    for (const chat of chats) {
      platform.say(place(chat), "/new");
      for (const each of asked.slice(1)) platform.say(place(chat), words(chat, each));
    }
    while (
      (await owed(["pending", "sending"])).length > 0 ||
      rig.model.requests.length < asked.length * chats.length
    ) {
      await pass(1_000);
      expect(clock.now() - back).toBeLessThan(120_000);
    }
    checkLimits(platform.asked);
    const unknown = await owed(["unknown"]);
    expect(unknown.length).toBeLessThanOrEqual(away === "cuts" ? 1 : 0);
    for (const chat of chats) {
      const texts = platform.shown.filter(({ place: at }) => at.chat === String(chat));
      const order = texts.map(({ text }) => text.replace(/^Answer to (\w+) of .*$/s, "$1"));
      const isMarked = unknown.some(({ lane }) => lane.includes(String(chat)));
      expect(order).toEqual([
        isMarked ? unknownNotice : "one",
        expect.stringContaining("A new session"),
        "two",
        "three",
      ]);
    }
    expect(rig.bugs).toEqual([]);
  },
  30_000,
);
