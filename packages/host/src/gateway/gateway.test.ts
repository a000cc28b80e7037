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

/** The platform is asked again after a pause. */
const soon = { interval: 5 };

describe("what a platform does to an answer", () => {
  test.each([
    ["says that it is too much", { kind: "limited", seconds: 1 }],
    ["fails inside", { kind: "error", code: 500, description: "Internal Server Error" }],
    ["is behind a gateway that is down", { kind: "html", code: 502 }],
  ] as const)("a platform that %s shows the answer in the end, and once", async (_, fault) => {
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

  test("an answer of which nobody can say whether it was read is not sent again by itself", async () => {
    const platform = await startFakeBotApi();
    const rig = openBotApi([says("All of it.")]);
    platform.faults.add("sendMessage", { kind: "cut", when: "before" });
    openBot(rig, platform);
    platform.say(7, "Tell me");
    await untilShown(platform, 1);
    expect(textsIn(platform)).toEqual([expect.stringContaining("cannot know whether it arrived")]);
  });

  test("[P11] an answer that arrived although the connection broke is marked, not repeated, and sent again when asked for", async () => {
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

  test("[P11] what is lost once more while it is sent again is marked once more, and nothing behind it is repeated", async () => {
    const platform = await startFakeBotApi();
    const [one, two] = ["one ".repeat(900), "two ".repeat(300)];
    const rig = openBotApi([says(`${one}\n\n${two}`)]);
    platform.faults.add("sendMessage", { kind: "cut", when: "after" });
    openBot(rig, platform);
    platform.say(7, "Tell me");
    await untilShown(platform, 2);
    platform.faults.add("sendMessage", { kind: "cut", when: "after" });
    platform.say(7, "/resend");
    await untilShown(platform, 4);
    const starts = textsIn(platform).map((text) => text.slice(0, 3));
    expect(starts).toEqual(["one", "⚠ T", "one", "⚠ T"]);
    expect(textsIn(platform)[1]).toContain(two.trim());
    expect(textsIn(platform)[3]).not.toContain("two");
    expect(await chunksOf(rig)).toMatchObject([{ state: "unknown", chunk: 0 }]);
    platform.say(7, "/resend");
    await untilShown(platform, 5);
    expect(textsIn(platform)[4]).toBe(one.trim());
  });

  test("a person who has blocked the bot is not written to again, and the page says so", async () => {
    const platform = await startFakeBotApi();
    const rig = openBotApi([says("Anybody?")]);
    const blocked = {
      kind: "error",
      code: 403,
      description: "Forbidden: bot was blocked",
    } as const;
    platform.faults.add("sendMessage", blocked);
    const asked = Promise.withResolvers<void>();
    platform.faults.after = (method) => void (method === "sendMessage" && asked.resolve());
    openBot(rig, platform);
    platform.say(7, "Hello");
    await asked.promise;
    await expect
      .poll(() => chunksOf(rig))
      .toMatchObject([{ state: "failed", code: "telegram_403" }]);
    expect(platform.shownIn(7)).toEqual([]);
  });
});

describe("what a platform delivers", () => {
  test("[P11] updates that come again, from two pollers too, are one turn each", async () => {
    const platform = await startFakeBotApi();
    const rig = openBotApi((_, before) => says(`Answer ${before}.`));
    openBot(rig, platform);
    platform.say(7, "One");
    await untilShown(platform, 1);
    // It believes the first to be dead, which still asks.
    openBot(rig, platform, { liveness: { isDead: () => "dead" } });
    platform.say(7, "Two");
    await untilShown(platform, 2);
    expect(rig.model.requests).toHaveLength(2);
    expect(textsIn(platform)).toEqual(["Answer 0.", "Answer 1."]);
  });

  test("[safety] a hook takes what shows its secret, once, and nothing else", async () => {
    const platform = await startFakeBotApi();
    const rig = openBotApi((_, before) => says(`Answer ${before}.`));
    const hook = { url: "https://holdfast.example.org/hooks/telegram", secret: "0123456789abcdef" };
    const { routes } = openBot(rig, platform, { pushWebhook: hook });
    await expect.poll(() => platform.hook).toEqual(hook);
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
    const answers = await Promise.all([push(hook.secret), push(hook.secret)]);
    expect(answers.map(({ status }) => status)).toEqual([200, 200]);
    await untilShown(platform, 1);
    expect((await push(hook.secret)).status).toBe(200);
    expect(rig.model.requests).toHaveLength(1);
  });

  test("a photo comes in as an attachment, and a message that still waits is changed by its edit", async () => {
    const platform = await startFakeBotApi();
    const first = Promise.withResolvers<void>();
    const gate = { kind: "gate", opened: first.promise } as const;
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
    first.resolve();
    await untilShown(platform, 2);
    expect(JSON.stringify(rig.model.requests[0])).toContain("photo-");
    expect(JSON.stringify(rig.model.requests[1])).toContain("A typo");
  });

  test("[safety] who edits a message in a group stays who said it, and an edit that cannot be kept comes again", async () => {
    const platform = await startFakeBotApi();
    const first = Promise.withResolvers<void>();
    const rig = openBotApi([[{ kind: "gate", opened: first.promise }, says("Yes.")], says("Yes.")]);
    let fails = 1;
    const commit: typeof rig.log.commit = async (asked) =>
      asked.events.some(({ type }) => type === "input.changed") && fails-- > 0
        ? { status: "failed", code: "store_busy", message: "The store is busy." }
        : rig.log.commit(asked);
    openBot(rig, platform, { log: { ...rig.log, commit } });
    platform.say(-7, "@holdfast_bot hello");
    await expect.poll(() => rig.model.requests.length).toBe(1);
    const id = platform.say(-7, "@holdfast_bot a tpyo");
    const from = { id: 7, is_bot: false, first_name: "Person 7" };
    const chat = { id: -7, type: "supergroup" };
    const text = "@holdfast_bot Ann: a typo";
    platform.push({ edited_message: { message_id: id, date: 0, edit_date: 1, from, chat, text } });
    const [session] = (await rig.store.reads.sessions(rig.owner, { limit: 1 })).sessions;
    const waiting = async () =>
      (await rig.store.reads.snapshot(rig.owner, session!.id, { limit: 1 }))?.inbox[0]?.content;
    await expect.poll(async () => (await waiting())?.text, soon).toBe("Person 7: Ann: a typo");
    first.resolve();
    await untilShown(platform, 2, -7);
  });
});
