import { gate, says } from "@holdfast/testing/fakes/scripted-model";
import { manualClock, nextTurn } from "@holdfast/testing/fakes/manual-clock";
import { outboxState } from "@holdfast/protocol";
import { expect, onTestFinished, test } from "vitest";

import { type Away, SimulatedPlatform } from "../../../test/support/gateway/simulated-platform.ts";
import { openApi } from "../../../test/support/api-rig.ts";
import { openGatewayOn } from "../../../test/support/gateway/gateway-rig.ts";
import { unknownNotice } from "./chunk.ts";
import type { ChatAddress } from "../adapter.ts";

const address = (chat: number): ChatAddress => ({
  chat: String(chat),
  thread: null,
  kind: chat < 0 ? "group" : "private",
});
const chats = [...Array.from({ length: 16 }, (_, index) => 101 + index), -1, -2, -3, -4];
const textFor = (chat: number, text: string) => `${text} of ${chat}`;
const texts = ["one", "two", "three"];

/** A bot, its chats and a platform in simulated time. The model echoes what people said. */
function openOutage() {
  const clock = manualClock();
  const platform = new SimulatedPlatform(clock);
  /** The model answers nothing before this. */
  const released = Promise.withResolvers<void>();
  const rig = openApi(
    ({ messages }) => {
      const last = messages.findLast(({ role }) => role === "user");
      const text = last?.role === "user" ? last.text.replace(/^\w+: /, "") : "";
      return [gate(released.promise), says(`Answer to ${text}`)];
    },
    { storeClock: () => clock.now() + 1_000_000 },
  );
  onTestFinished(() => rig.close());
  const options = { clock, listed: ["7"] };
  const gateway = openGatewayOn(rig, async () => platform.adapter, options);
  gateway.start();
  onTestFinished(async () => {
    const stopped = gateway.stop();
    await clock.advance(60_000);
    await stopped;
  });
  async function advance(ms: number, step = 100): Promise<void> {
    for (let elapsed = 0; elapsed < ms; elapsed += step) {
      await clock.advance(step);
      for (let turn = 0; turn < 4; turn += 1) await nextTurn();
    }
  }
  const outboxRows = async (states = outboxState.options) =>
    rig.store.reads.outbox(rig.owner, { states, limit: 10_000 });
  async function liveRuns(): Promise<number> {
    const { sessions } = await rig.store.reads.sessions(rig.owner, { limit: 1_000 });
    return sessions.filter(({ liveRun }) => liveRun !== null).length;
  }
  return { clock, platform, rig, release: released.resolve, advance, outboxRows, liveRuns };
}

function checkLimits(calls: readonly { readonly at: number; readonly place: ChatAddress }[]): void {
  for (const chat of chats) {
    const times = calls.filter((call) => call.place.chat === String(chat)).map(({ at }) => at);
    const gaps = times.slice(1).map((at, index) => at - times[index]!);
    expect(Math.min(...gaps)).toBeGreaterThanOrEqual(chat < 0 ? 3_000 : 1_000);
  }
  for (const { at } of calls)
    expect(calls.filter((call) => call.at >= at && call.at < at + 1_000).length).toBeLessThan(31);
}

test.each<Away>(["fails", "cuts"])(
  "[P11] after ten minutes in which the platform %s, everything due is delivered in order at the platform's pace",
  async (away) => {
    const { clock, platform, rig, release, advance, outboxRows, liveRuns } = openOutage();
    await advance(200);
    const [first] = texts;
    for (const chat of chats) platform.say(address(chat), textFor(chat, first!));
    await advance(200);
    await expect.poll(async () => (await outboxRows()).length).toBe(chats.length);
    platform.away = away;
    release();
    await expect.poll(() => rig.model.requests.length).toBe(chats.length);
    await advance(600_000, 1_000);
    // Probes for the platform's return send nothing whose arrival would be unknown.
    expect(platform.shown).toEqual([]);
    expect(platform.asked.length).toBeLessThan(chats.length);
    platform.away = null;
    const backAt = clock.now();
    for (const chat of chats) {
      platform.say(address(chat), "/new");
      for (const text of texts.slice(1)) platform.say(address(chat), textFor(chat, text));
    }
    while (
      (await outboxRows(["pending", "sending"])).length > 0 ||
      rig.model.requests.length < texts.length * chats.length
    ) {
      // Runs take real time. Only the platform's pace may use up the simulated minutes.
      await expect.poll(liveRuns).toBe(0);
      await advance(1_000);
      expect(clock.now() - backAt).toBeLessThan(120_000);
    }
    checkLimits(platform.asked);
    const unknown = await outboxRows(["unknown"]);
    expect(unknown.length).toBeLessThanOrEqual(away === "cuts" ? 1 : 0);
    for (const chat of chats) {
      const messages = platform.shown.filter(({ place: target }) => target.chat === String(chat));
      const order = messages.map(({ text }) => text.replace(/^Answer to (\w+) of .*$/s, "$1"));
      const isUnknown = unknown.some(({ lane }) => lane.includes(String(chat)));
      expect(order).toEqual([
        isUnknown ? unknownNotice : "one",
        expect.stringContaining("New session started"),
        "two",
        "three",
      ]);
    }
    expect(rig.bugs).toEqual([]);
  },
  30_000,
);
