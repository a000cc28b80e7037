import { systemClock } from "@holdfast/engine";
import type { Seq } from "@holdfast/protocol";
import { aHolder } from "@holdfast/testing/fixtures/factories";
import { gate, says } from "@holdfast/testing/fakes/scripted-model";
import { expect, test } from "vitest";

import {
  openBot,
  openBotApi,
  startFakeBotApi,
  untilShown,
  textsIn,
} from "../../test/support/gateway/bot-rig.ts";
import { botToken, type FakeBotApi } from "@holdfast/testing/telegram/fake-bot-api";

const fastPoll = { interval: 5 };

test("a slow answer is shown piece by piece, even right after another message", async () => {
  const platform = await startFakeBotApi();
  const gates = Array.from({ length: 4 }, () => Promise.withResolvers<void>());
  const slow = gates.flatMap(({ promise }, index) => [gate(promise), says(`piece ${index} `)]);
  const rig = openBotApi([says("At once."), slow]);
  openBot(rig, platform);
  platform.say(7, "One");
  platform.say(7, "Two");
  await untilShown(platform, 1);
  for (const [index, { resolve }] of gates.entries()) {
    resolve();
    await expect.poll(() => textsIn(platform)[1], fastPoll).toContain(`piece ${index}`);
  }
  expect(platform.shownIn(7)[1]?.edits).toBe(3);
  expect(textsIn(platform)[1]).toBe("piece 0 piece 1 piece 2 piece 3");
});

test("messages to a chat from two sessions arrive in order, even while the first one waits", async () => {
  const platform = await startFakeBotApi();
  const rig = openBotApi([says("From the first.")]);
  openBot(rig, platform);
  platform.say(7, "Hello");
  await untilShown(platform, 1);
  platform.faults.add("sendMessage", { kind: "limited", seconds: 1 });
  platform.say(7, "/nonsense");
  platform.say(7, "/new Second");
  platform.say(7, "/gibberish");
  await untilShown(platform, 4);
  expect(textsIn(platform).slice(1)).toEqual([
    expect.stringContaining("/nonsense"),
    expect.stringContaining("New session started"),
    expect.stringContaining("/gibberish"),
  ]);
});

test("a long answer is not interrupted by another session's message to the same chat", async () => {
  const platform = await startFakeBotApi();
  const rig = openBotApi([says("word ".repeat(1_500))]);
  openBot(rig, platform);
  const isSending = Promise.withResolvers<void>();
  const mayGoOn = Promise.withResolvers<void>();
  platform.faults.before = async (method) => {
    if (method !== "sendMessage") return;
    isSending.resolve();
    await mayGoOn.promise;
  };
  platform.say(7, "Tell me");
  await isSending.promise;
  platform.say(7, "/new Second");
  const notes = { states: ["pending"], limit: 10 } as const;
  await expect
    .poll(
      async () =>
        (await rig.store.reads.outbox(rig.owner, notes)).filter(({ kind }) => kind === "note")
          .length,
      fastPoll,
    )
    .toBe(1);
  mayGoOn.resolve();
  await untilShown(platform, 3);
  expect(textsIn(platform)).toEqual([
    expect.stringMatching(/^word /),
    expect.stringMatching(/^word /),
    expect.stringContaining("New session started"),
  ]);
});

test("an answer in progress completes after its chat moves on, and the new session does not wait for it", async () => {
  const platform = await startFakeBotApi();
  const secondHalf = Promise.withResolvers<void>();
  const answer = [says("The first half, "), gate(secondHalf.promise), says("the second half.")];
  const rig = openBotApi([answer, says("Something else.")]);
  openBot(rig, platform);
  platform.say(7, "Tell me");
  await untilShown(platform, 1);
  platform.say(7, "/new Elsewhere");
  await untilShown(platform, 2);
  platform.say(7, "And this?");
  await untilShown(platform, 3);
  secondHalf.resolve();
  await expect.poll(() => textsIn(platform)[0], fastPoll).toBe("The first half, the second half.");
  expect(textsIn(platform).slice(1)).toEqual([
    expect.stringContaining("New session started"),
    "Something else.",
  ]);
});

test("a rate-limited chat does not delay other chats on the same session", async () => {
  const platform = await startFakeBotApi();
  const rig = openBotApi((_, count) => says(`Answer ${count}.`));
  openBot(rig, platform, { allowedPeople: ["7", "8"] });
  platform.say(7, "One");
  await untilShown(platform, 1);
  const [session] = (await rig.store.reads.sessions(rig.owner, { limit: 1 })).sessions;
  platform.say(8, `/resume ${session!.id}`);
  await untilShown(platform, 1, 8);
  platform.faults.add("sendMessage", { kind: "limited", seconds: 60 });
  platform.say(7, "/nonsense");
  await expect
    .poll(() => platform.calls.filter(({ method }) => method === "sendMessage").length, fastPoll)
    .toBe(3);
  platform.say(8, "Two");
  await untilShown(platform, 2, 8);
  expect(platform.shownIn(8).at(-1)?.text).toBe("Answer 1.");
  expect(platform.shownIn(7)).toHaveLength(1);
});

/** Two answers to another chat: time enough for a step that should not be made. */
async function talkWithAnother(platform: FakeBotApi): Promise<void> {
  for (const count of [1, 2]) {
    platform.say(8, "Hello");
    await untilShown(platform, count, 8);
  }
}

test("a streamed answer whose edit the platform refuses is not edited again at once", async () => {
  const platform = await startFakeBotApi();
  const [secondHalf, end, two, three] = [
    Promise.withResolvers<void>(),
    Promise.withResolvers<void>(),
    Promise.withResolvers<void>(),
    Promise.withResolvers<void>(),
  ];
  const halves = [says("The first half, "), gate(secondHalf.promise), says("the second.")];
  const counted = [says("One, "), gate(two.promise), says("two, "), gate(three.promise)];
  const rig = openBotApi([
    [...halves, gate(end.promise)],
    [...counted, says("three.")],
  ]);
  openBot(rig, platform, { allowedPeople: ["7", "8"] });
  platform.say(7, "Tell me");
  await untilShown(platform, 1);
  const refused = { kind: "error", code: 400, description: "Bad Request: no edits" } as const;
  platform.faults.add("editMessageText", refused);
  const edits = () => platform.calls.filter(({ method }) => method === "editMessageText").length;
  secondHalf.resolve();
  await expect.poll(edits, fastPoll).toBe(1);
  // Edits in another chat come after those that are due here.
  platform.say(8, "Count");
  await untilShown(platform, 1, 8);
  const shown = () => platform.shownIn(8)[0]?.text;
  two.resolve();
  await expect.poll(shown, fastPoll).toContain("two");
  three.resolve();
  await expect.poll(shown, fastPoll).toContain("three");
  expect(textsIn(platform)[0]).not.toContain("second");
  end.resolve();
});

test("[P11] a host that takes over a delivery waits as long as the platform asked the host before", async () => {
  const platform = await startFakeBotApi();
  const rig = openBotApi((_, count) => says(`Answer ${count}.`));
  const allowedPeople = ["7", "8"];
  const first = openBot(rig, platform, { allowedPeople });
  platform.faults.add("sendMessage", { kind: "limited", seconds: 60 });
  platform.say(7, "Hello");
  const pending = { states: ["pending"], limit: 1 } as const;
  const retryAt = async () =>
    (await rig.store.reads.outbox(rig.owner, pending)).at(0)?.retryAt ?? null;
  await expect.poll(retryAt, fastPoll).not.toBeNull();
  await first.stop();
  openBot(rig, platform, { allowedPeople });
  // Its reply waits behind the answer, but opens the delivery.
  platform.say(7, "/nonsense");
  await talkWithAnother(platform);
  expect(textsIn(platform)).toEqual([]);
});

test("a message that the platform keeps putting off is tried ever more rarely, and arrives once", async () => {
  const platform = await startFakeBotApi();
  // Ten times as fast.
  const clock: typeof systemClock = {
    now: () => Math.round(systemClock.now() * 10),
    sleep: (ms, signal) => systemClock.sleep(ms / 10, signal),
  };
  const rig = openBotApi([says("At last.")], { storeClock: () => clock.now() });
  for (let times = 0; times < 4; times += 1)
    platform.faults.add("sendMessage", { kind: "limited", seconds: 1 });
  openBot(rig, platform, { clock });
  platform.say(7, "Hello");
  await untilShown(platform, 1);
  expect(textsIn(platform)).toEqual(["At last."]);
  const { sessions } = await rig.store.reads.sessions(rig.owner, { limit: 1 });
  const query = { after: 0 as Seq, limit: 100 };
  const page = await rig.store.reads.events(rig.owner, sessions[0]!.id, query);
  const retries = (page?.events ?? []).flatMap(({ data }) =>
    typeof data["retryAt"] === "number" ? [data["retryAt"]] : [],
  );
  const pauses = retries.slice(1).map((at, index) => at - retries[index]!);
  // Each begins when the one before is over.
  expect(pauses.map((pause, index) => pause >= 2_000 * 2 ** index)).toEqual([true, true, true]);
});

test("a gateway reports receiving only after the platform has answered", async () => {
  const platform = await startFakeBotApi();
  const rig = openBotApi([]);
  const polled = Promise.withResolvers<void>();
  const answered = Promise.withResolvers<void>();
  platform.faults.before = async (method) => {
    if (method !== "getUpdates") return;
    polled.resolve();
    await answered.promise;
  };
  const gateway = openBot(rig, platform);
  await polled.promise;
  expect(gateway.status().state).toBe("starting");
  answered.resolve();
  // Nothing was said, so the first poll did not block.
  await expect.poll(() => gateway.status().state, fastPoll).toBe("receiving");
});

test("one of two hosts holds the bot, and the other takes over when it stops or dies", async () => {
  const platform = await startFakeBotApi();
  const rig = openBotApi((_, count) => says(`Answer ${count}.`));
  const dead = aHolder();
  const first = openBot(rig, platform);
  await expect.poll(() => first.status().state, fastPoll).toBe("receiving");
  const second = openBot(rig, platform, { leaseMs: 300, holder: () => dead });
  await expect
    .poll(() => second.status(), fastPoll)
    .toMatchObject({
      state: "contended",
      trouble: { code: "held_elsewhere" },
    });
  expect(second.status().trouble?.message).toContain("goes on when that one ends");
  await first.stop();
  await expect.poll(() => second.status().state, fastPoll).toBe("receiving");
  const isDead = ({ nonce }: { nonce: string }) => (nonce === dead.nonce ? "dead" : "alive");
  const third = openBot(rig, platform, { liveness: { isDead } });
  await expect.poll(() => third.status().state, fastPoll).toBe("receiving");
  await expect.poll(() => second.status().trouble?.code, fastPoll).toBe("held_elsewhere");
  platform.say(7, "Anybody?");
  await untilShown(platform, 1);
  expect(textsIn(platform)).toEqual(["Answer 0."]);
});

test("a foreign poller for the same bot is reported with what to do", async () => {
  const platform = await startFakeBotApi();
  const rig = openBotApi([]);
  const gateway = openBot(rig, platform);
  await expect.poll(() => gateway.status().state, fastPoll).toBe("receiving");
  const body = JSON.stringify({ offset: 0, timeout: 5 });
  const headers = { "content-type": "application/json" };
  const stop = new AbortController();
  const other = fetch(`${platform.address}/bot${botToken}/getUpdates`, {
    method: "POST",
    body,
    headers,
    signal: stop.signal,
  }).catch(() => null);
  await expect
    .poll(() => gateway.status(), fastPoll)
    .toMatchObject({
      state: "contended",
      trouble: { code: "foreign_poller" },
    });
  expect(gateway.status().trouble?.message).toContain("Stop it");
  stop.abort();
  await other;
});
