import { says } from "@holdfast/testing/fakes/scripted-model";
import { shortId } from "@holdfast/client";
import { expect, onTestFinished, test } from "vitest";

import { testWebhook, openWebhookRig } from "../../../../test/support/gateway/webhook-rig.ts";
import { openWebhookReceiver } from "@holdfast/testing/host/webhook-receiver";
import { valueOf } from "../../../../test/support/api-helpers.ts";
import type { Webhook } from "./webhook.ts";

async function open(script: Parameters<typeof openWebhookRig>[0], hook: Partial<Webhook> = {}) {
  const receiver = await openWebhookReceiver();
  const rig = openWebhookRig(script, testWebhook(receiver.url, hook));
  onTestFinished(async () => {
    await rig.close();
    await receiver.close();
  });
  const heard = () => receiver.taken.map(({ message }) => message["text"]);
  return { receiver, rig, heard };
}

const json = async (answer: Response) =>
  (await answer.json()) as { readonly sessionId: string; readonly runId: string | null };

test.each(["/new", "/sessions", "/resume 123456", "//new", "/interrupt Now", "/nothing such"])(
  "[safety] %s from a program is a message like any other, word for word",
  async (text) => {
    const { receiver, rig, heard } = await open([says("One."), says("Two.")]);
    const { sessionId } = await json(await rig.say("msg-1", { text: "About gardens" }));
    await receiver.until(1);
    const second = await json(await rig.say("msg-2", { sender: "Ada", text }));
    expect([second.sessionId, second.runId === null]).toEqual([sessionId, false]);
    await receiver.until(2);
    expect(heard()).toEqual(["One.", "Two."]);
    expect(JSON.stringify(rig.model.requests[1])).toContain(`Ada: ${text}`);
  },
);

test("[safety] of commands a program has those that its configuration names, and what they show is its own lane's", async () => {
  const commands = ["new", "sessions", "resume", "search", "help"] as const;
  const { receiver, rig, heard } = await open((_, before) => says(`Answer ${before}.`), {
    commands,
  });
  const { client } = rig;
  const secret = valueOf(await client.createSession({ body: { title: "Garden secrets" } })).session;
  const hidden = { clientId: "mine", text: "About gardens, for me alone" };
  valueOf(await client.sendMessage({ params: { id: secret.id }, body: hidden }));
  const other = await json(await rig.say("msg-0", { conversation: "other", text: "Gardens" }));
  const { sessionId } = await json(await rig.say("msg-1", { text: "Gardens and pots" }));
  await receiver.until(2);
  const ask = async (id: string, text: string) => {
    const before = receiver.taken.length;
    const { runId } = await json(await rig.say(id, { text }));
    await receiver.until(before + 1);
    return [runId, heard()[before]];
  };
  expect(await ask("msg-2", "/new Pots")).toEqual([
    null,
    expect.stringContaining("A new session has begun"),
  ]);
  const listed = String((await ask("msg-3", "/sessions"))[1]);
  expect(listed).toContain("Pots");
  expect(listed).toContain(shortId(sessionId as never));
  expect(listed).not.toMatch(
    new RegExp(`${shortId(secret.id)}|${shortId(other.sessionId as never)}`),
  );
  for (const asked of [secret.id, shortId(secret.id), "garden secrets", other.sessionId])
    expect((await ask(`to-${asked.replaceAll(" ", "-")}`, `/resume ${asked}`))[1]).toContain(
      `No session fits “${asked}”`,
    );
  expect((await ask("msg-4", "/search alone"))[1]).toContain("Nothing has “alone”");
  expect((await ask("msg-5", "/help"))[1]).not.toContain("/undo");
  expect((await ask("msg-6", `/resume ${shortId(sessionId as never)}`))[1]).toContain("now in");
  expect(await rig.store.reads.lane(rig.owner, "webhook:ci:main" as never)).toBe(sessionId);
  // Not named, so not a command.
  expect((await ask("msg-7", "/undo"))[0]).not.toBeNull();
});

test("[safety] a branch that its owner made of a program's session is not the program's", async () => {
  const hook = { commands: ["resume", "branch"] } as const;
  const { receiver, rig, heard } = await open((_, before) => says(`Answer ${before}.`), hook);
  const { sessionId } = await json(await rig.say("msg-1", { text: "Gardens" }));
  await receiver.until(1);
  const params = { id: sessionId as never };
  const { session } = valueOf(await rig.client.branch({ params, body: { title: "Mine" } }));
  await rig.say("msg-2", { text: `/resume ${session.id}` });
  await receiver.until(2);
  await rig.say("msg-3", { text: "/branch Its own" });
  await receiver.until(3);
  await rig.say("msg-4", { text: `/resume ${shortId(sessionId as never)}` });
  await receiver.until(4);
  await rig.say("msg-5", { text: "/resume its own" });
  await receiver.until(5);
  expect(heard().slice(1)).toEqual([
    expect.stringContaining("No session fits"),
    expect.any(String),
    expect.stringContaining("This chat is now in"),
    expect.stringContaining("This chat is now in **Its own**"),
  ]);
});

test("a program that is let reach every session is led to any of them", async () => {
  const hook = { commands: ["resume"], sessions: "all" } as const;
  const { receiver, rig, heard } = await open([says("One.")], hook);
  const { session } = valueOf(await rig.client.createSession({ body: { title: "Kitchen" } }));
  await rig.say("msg-1", { text: "/resume kitchen" });
  await receiver.until(1);
  expect(heard()[0]).toContain("This chat is now in **Kitchen**");
  expect(await rig.store.reads.lane(rig.owner, "webhook:ci:main" as never)).toBe(session.id);
});

test("commands that are named work as in every chat, and answer through the same door", async () => {
  const hook = { commands: ["new"] } as const;
  const { receiver, rig, heard } = await open([says("One."), says("Two.")], hook);
  const { sessionId } = await json(await rig.say("msg-1", { text: "About gardens" }));
  await receiver.until(1);
  const moved = await json(await rig.say("msg-2", { text: "/new Kitchen" }));
  expect(moved.runId).toBeNull();
  await receiver.until(2);
  expect(heard()[1]).toContain("A new session has begun");
  expect((await json(await rig.say("msg-3", { text: "About pots" }))).sessionId).not.toBe(
    sessionId,
  );
  await rig.say("msg-2", { text: "/new Kitchen" });
  await receiver.until(3);
  expect((await rig.store.reads.sessions(rig.owner, { limit: 9 })).sessions).toHaveLength(2);
});
