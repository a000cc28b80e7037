import { says } from "@holdfast/testing/fakes/scripted-model";
import { Hono } from "hono";
import { describe, expect, test } from "vitest";

import {
  chunksOf,
  openBot,
  openBotApi,
  startFakeBotApi,
  untilShown,
  textsIn,
} from "../../test/support/gateway/bot-rig.ts";

/** Polls often: the platform is retried after a pause. */
const fastPoll = { interval: 5 };

describe("delivery through a failing platform", () => {
  test.each([
    ["answers with a rate limit", { kind: "limited", seconds: 1 }],
    [
      "answers with an internal error",
      { kind: "error", code: 500, description: "Internal Server Error" },
    ],
    ["is behind a gateway that is down", { kind: "html", code: 502 }],
  ] as const)("a platform that %s shows the answer in the end, once", async (_, fault) => {
    const platform = await startFakeBotApi();
    const rig = openBotApi([says("All of it.")]);
    platform.faults.add("sendMessage", fault);
    openBot(rig, platform);
    platform.say(7, "Tell me");
    await untilShown(platform, 1);
    expect(textsIn(platform)).toEqual(["All of it."]);
    expect(await chunksOf(rig)).toEqual([]);
    expect(rig.bugs).toEqual([]);
  });

  test("an answer whose arrival is unknown is not resent automatically", async () => {
    const platform = await startFakeBotApi();
    const rig = openBotApi([says("All of it.")]);
    platform.faults.add("sendMessage", { kind: "cut", when: "before" });
    openBot(rig, platform);
    platform.say(7, "Tell me");
    await untilShown(platform, 1);
    expect(textsIn(platform)).toEqual([expect.stringContaining("cannot know whether it arrived")]);
  });

  test("[P11] an answer that arrived although the connection broke is marked, and resent only on request", async () => {
    const platform = await startFakeBotApi();
    const rig = openBotApi([says("The whole answer.")]);
    platform.faults.add("sendMessage", { kind: "cut", when: "after" });
    openBot(rig, platform);
    platform.say(7, "Tell me");
    await untilShown(platform, 2);
    expect(textsIn(platform)[0]).toBe("The whole answer.");
    expect(textsIn(platform)[1]).toContain("cannot know whether it arrived");
    expect(await chunksOf(rig)).toMatchObject([{ state: "unknown", chunk: 0 }]);
    platform.say(7, "/resend");
    await untilShown(platform, 3);
    expect(textsIn(platform)[2]).toBe("The whole answer.");
  });

  test("[P11] a resend whose arrival is unknown is marked again, and nothing after it is repeated", async () => {
    const platform = await startFakeBotApi();
    const [firstText, secondText] = ["one ".repeat(900), "two ".repeat(300)];
    const rig = openBotApi([says(`${firstText}\n\n${secondText}`)]);
    platform.faults.add("sendMessage", { kind: "cut", when: "after" });
    openBot(rig, platform);
    platform.say(7, "Tell me");
    await untilShown(platform, 2);
    platform.faults.add("sendMessage", { kind: "cut", when: "after" });
    platform.say(7, "/resend");
    await untilShown(platform, 4);
    const starts = textsIn(platform).map((text) => text.slice(0, 3));
    expect(starts).toEqual(["one", "⚠ T", "one", "⚠ T"]);
    expect(textsIn(platform)[1]).toContain(secondText.trim());
    expect(textsIn(platform)[3]).not.toContain("two");
    expect(await chunksOf(rig)).toMatchObject([{ state: "unknown", chunk: 0 }]);
    platform.say(7, "/resend");
    await untilShown(platform, 5);
    expect(textsIn(platform)[4]).toBe(firstText.trim());
  });

  test("[P11] /resend resends what this chat may have missed, not what another chat of the session may", async () => {
    const platform = await startFakeBotApi();
    const rig = openBotApi((_, count) => says(`Answer ${count}.`));
    openBot(rig, platform, { allowedPeople: ["7", "8"] });
    platform.faults.add("sendMessage", { kind: "cut", when: "after" });
    platform.say(7, "One");
    await untilShown(platform, 2);
    const [session] = (await rig.store.reads.sessions(rig.owner, { limit: 1 })).sessions;
    platform.say(8, `/resume ${session!.id}`);
    await untilShown(platform, 1, 8);
    platform.say(8, "/resend");
    await untilShown(platform, 2, 8);
    expect(platform.shownIn(8).at(-1)?.text).toMatch(/nothing/i);
    expect(await chunksOf(rig)).toMatchObject([{ state: "unknown", lane: "telegram:424242:p7:0" }]);
    expect(platform.shownIn(7)).toHaveLength(2);
  });

  test("a person who blocked the bot gets no retries, and the chunk is recorded as failed", async () => {
    const platform = await startFakeBotApi();
    const rig = openBotApi([says("Anybody?")]);
    const blocked = {
      kind: "error",
      code: 403,
      description: "Forbidden: bot was blocked",
    } as const;
    platform.faults.add("sendMessage", blocked);
    const sent = Promise.withResolvers<void>();
    platform.faults.after = (method) => void (method === "sendMessage" && sent.resolve());
    openBot(rig, platform);
    platform.say(7, "Hello");
    await sent.promise;
    await expect
      .poll(() => chunksOf(rig))
      .toMatchObject([{ state: "failed", code: "telegram_403" }]);
    expect(platform.shownIn(7)).toEqual([]);
  });
});

describe("receiving from a platform", () => {
  test("[P11] redelivered updates, even through two pollers, become one turn each", async () => {
    const platform = await startFakeBotApi();
    const rig = openBotApi((_, count) => says(`Answer ${count}.`));
    openBot(rig, platform);
    platform.say(7, "One");
    await untilShown(platform, 1);
    // It believes the first one to be dead, although that still polls.
    openBot(rig, platform, { liveness: { isDead: () => "dead" } });
    platform.say(7, "Two");
    await untilShown(platform, 2);
    expect(rig.model.requests).toHaveLength(2);
    expect(textsIn(platform)).toEqual(["Answer 0.", "Answer 1."]);
  });

  test("/interrupt without a text asks for one, and interrupts nothing", async () => {
    const platform = await startFakeBotApi();
    const rig = openBotApi([]);
    openBot(rig, platform);
    platform.say(7, "/interrupt");
    await untilShown(platform, 1);
    expect(textsIn(platform)).toEqual([expect.stringContaining("/interrupt")]);
    expect(rig.model.requests).toEqual([]);
  });

  test("[P11] a command delivered again after a later one changes nothing", async () => {
    const platform = await startFakeBotApi();
    const rig = openBotApi([says("Hello.")]);
    openBot(rig, platform);
    platform.say(7, "Hello");
    await untilShown(platform, 1);
    const first = platform.say(7, "/title One");
    platform.say(7, "/title Two");
    await untilShown(platform, 3);
    platform.say(7, "/title One", { message_id: first });
    platform.say(7, "/title");
    await untilShown(platform, 4);
    expect(textsIn(platform)).toHaveLength(4);
    expect(textsIn(platform).at(-1)).toContain("Two");
  });

  test("[safety] the push route accepts only requests with its secret, each once", async () => {
    const platform = await startFakeBotApi();
    const rig = openBotApi((_, count) => says(`Answer ${count}.`));
    const webhook = {
      url: "https://holdfast.example.org/hooks/telegram",
      secret: "0123456789abcdef",
    };
    const { routes } = openBot(rig, platform, { pushWebhook: webhook });
    await expect.poll(() => platform.hook).toEqual(webhook);
    const app = new Hono();
    for (const { method, path, handle } of routes) app.on(method, path, handle as never);
    const from = { id: 7, is_bot: false, first_name: "Ann" };
    const chat = { id: 7, type: "private" };
    const body = JSON.stringify({
      update_id: 1,
      message: { message_id: 9, date: 0, from, chat, text: "Pushed" },
    });
    const push = (secret: string) =>
      app.request("/hooks/telegram", {
        method: "POST",
        body,
        headers: { "x-telegram-bot-api-secret-token": secret },
      });
    expect((await push("wrong")).status).toBe(401);
    const responses = await Promise.all([push(webhook.secret), push(webhook.secret)]);
    expect(responses.map(({ status }) => status)).toEqual([200, 200]);
    await untilShown(platform, 1);
    expect((await push(webhook.secret)).status).toBe(200);
    expect(rig.model.requests).toHaveLength(1);
  });

  test("a photo becomes an attachment, and an edit changes a message that is still queued", async () => {
    const platform = await startFakeBotApi();
    const released = Promise.withResolvers<void>();
    const gate = { kind: "gate", opened: released.promise } as const;
    const rig = openBotApi([[gate, says("Seen.")], says("Changed.")]);
    platform.files.set("file-1", Buffer.from("pixels"));
    openBot(rig, platform);
    const photo = [{ file_id: "file-1", file_size: 6 }];
    platform.say(7, "", { text: undefined, caption: "Look", photo });
    await expect.poll(() => rig.model.requests.length).toBe(1);
    const id = platform.say(7, "A tpyo");
    const from = { id: 7, is_bot: false, first_name: "Ann" };
    const chat = { id: 7, type: "private" };
    const edited = { message_id: id, date: 0, edit_date: 1, from, chat, text: "A typo" };
    platform.push({ edited_message: edited });
    const [session] = (await rig.store.reads.sessions(rig.owner, { limit: 1 })).sessions;
    const inbox = async () =>
      (await rig.store.reads.snapshot(rig.owner, session!.id, { limit: 1 }))?.inbox ?? [];
    await expect.poll(async () => (await inbox())[0]?.content?.text).toBe("A typo");
    released.resolve();
    await untilShown(platform, 2);
    expect(JSON.stringify(rig.model.requests[0])).toContain("photo-");
    expect(JSON.stringify(rig.model.requests[1])).toContain("A typo");
  });

  test("[safety] an edit in a group keeps its author, and is retried if it could not be stored", async () => {
    const platform = await startFakeBotApi();
    const released = Promise.withResolvers<void>();
    const rig = openBotApi([
      [{ kind: "gate", opened: released.promise }, says("Yes.")],
      says("Yes."),
    ]);
    let failuresLeft = 1;
    const commit: typeof rig.log.commit = async (request) =>
      request.events.some(({ type }) => type === "input.changed") && failuresLeft-- > 0
        ? { status: "failed", code: "store_busy", message: "The store is busy." }
        : rig.log.commit(request);
    openBot(rig, platform, { log: { ...rig.log, commit } });
    platform.say(-7, "@holdfast_bot hello");
    await expect.poll(() => rig.model.requests.length).toBe(1);
    const id = platform.say(-7, "@holdfast_bot a tpyo");
    const from = { id: 7, is_bot: false, first_name: "Person 7" };
    const chat = { id: -7, type: "supergroup" };
    const text = "@holdfast_bot Ann: a typo";
    platform.push({ edited_message: { message_id: id, date: 0, edit_date: 1, from, chat, text } });
    const [session] = (await rig.store.reads.sessions(rig.owner, { limit: 1 })).sessions;
    const queuedContent = async () =>
      (await rig.store.reads.snapshot(rig.owner, session!.id, { limit: 1 }))?.inbox[0]?.content;
    await expect
      .poll(async () => (await queuedContent())?.text, fastPoll)
      .toBe("Person 7: Ann: a typo");
    released.resolve();
    await untilShown(platform, 2, -7);
  });
});
