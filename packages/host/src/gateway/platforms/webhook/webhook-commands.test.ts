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
  const postedTexts = () => receiver.taken.map(({ message }) => message["text"]);
  return { receiver, rig, postedTexts };
}

const json = async (response: Response) =>
  (await response.json()) as { readonly sessionId: string; readonly runId: string | null };

test.each(["/new", "/sessions", "/resume 123456", "//new", "/interrupt Now", "/nothing such"])(
  "[safety] %s from a program is a plain message, word for word",
  async (text) => {
    const { receiver, rig, postedTexts } = await open([says("One."), says("Two.")]);
    const { sessionId } = await json(await rig.say("msg-1", { text: "About gardens" }));
    await receiver.until(1);
    const second = await json(await rig.say("msg-2", { sender: "Ada", text }));
    expect([second.sessionId, second.runId === null]).toEqual([sessionId, false]);
    await receiver.until(2);
    expect(postedTexts()).toEqual(["One.", "Two."]);
    expect(JSON.stringify(rig.model.requests[1])).toContain(`Ada: ${text}`);
  },
);

test("[safety] a program has only its configured commands, and they show only its own lane's sessions", async () => {
  const commands = ["new", "sessions", "resume", "search", "help"] as const;
  const { receiver, rig, postedTexts } = await open((_, count) => says(`Answer ${count}.`), {
    commands,
  });
  const { client } = rig;
  const ownersSession = valueOf(
    await client.createSession({ body: { title: "Garden secrets" } }),
  ).session;
  const message = { clientId: "mine", text: "About gardens, for me alone" };
  valueOf(await client.sendMessage({ params: { id: ownersSession.id }, body: message }));
  const other = await json(await rig.say("msg-0", { conversation: "other", text: "Gardens" }));
  const { sessionId } = await json(await rig.say("msg-1", { text: "Gardens and pots" }));
  await receiver.until(2);
  const send = async (id: string, text: string) => {
    const taken = receiver.taken.length;
    const { runId } = await json(await rig.say(id, { text }));
    await receiver.until(taken + 1);
    return [runId, postedTexts()[taken]];
  };
  expect(await send("msg-2", "/new Pots")).toEqual([
    null,
    expect.stringContaining("New session started"),
  ]);
  const listed = String((await send("msg-3", "/sessions"))[1]);
  expect(listed).toContain("Pots");
  expect(listed).toContain(shortId(sessionId as never));
  expect(listed).not.toMatch(
    new RegExp(`${shortId(ownersSession.id)}|${shortId(other.sessionId as never)}`),
  );
  for (const target of [
    ownersSession.id,
    shortId(ownersSession.id),
    "garden secrets",
    other.sessionId,
  ])
    expect((await send(`to-${target.replaceAll(" ", "-")}`, `/resume ${target}`))[1]).toContain(
      `No session fits “${target}”`,
    );
  expect((await send("msg-4", "/search alone"))[1]).toContain("No matches for “alone”");
  expect((await send("msg-5", "/help"))[1]).not.toContain("/undo");
  expect((await send("msg-6", `/resume ${shortId(sessionId as never)}`))[1]).toContain("now in");
  expect(await rig.store.reads.lane(rig.owner, "webhook:ci:main" as never)).toBe(sessionId);
  // Not configured, so not a command.
  expect((await send("msg-7", "/undo"))[0]).not.toBeNull();
});

test("[safety] the owner's branch of a program's session is out of the program's reach", async () => {
  const hook = { commands: ["resume", "branch"] } as const;
  const { receiver, rig, postedTexts } = await open((_, count) => says(`Answer ${count}.`), hook);
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
  expect(postedTexts().slice(1)).toEqual([
    expect.stringContaining("No session fits"),
    expect.any(String),
    expect.stringContaining("This chat is now in"),
    expect.stringContaining("This chat is now in **Its own**"),
  ]);
});

test("a webhook with access to all sessions can resume any of them", async () => {
  const hook = { commands: ["resume"], sessions: "all" } as const;
  const { receiver, rig, postedTexts } = await open([says("One.")], hook);
  const { session } = valueOf(await rig.client.createSession({ body: { title: "Kitchen" } }));
  await rig.say("msg-1", { text: "/resume kitchen" });
  await receiver.until(1);
  expect(postedTexts()[0]).toContain("This chat is now in **Kitchen**");
  expect(await rig.store.reads.lane(rig.owner, "webhook:ci:main" as never)).toBe(session.id);
});

test("configured commands work as in any chat, and their replies are posted back", async () => {
  const hook = { commands: ["new"] } as const;
  const { receiver, rig, postedTexts } = await open([says("One."), says("Two.")], hook);
  const { sessionId } = await json(await rig.say("msg-1", { text: "About gardens" }));
  await receiver.until(1);
  const moved = await json(await rig.say("msg-2", { text: "/new Kitchen" }));
  expect(moved.runId).toBeNull();
  await receiver.until(2);
  expect(postedTexts()[1]).toContain("New session started");
  expect((await json(await rig.say("msg-3", { text: "About pots" }))).sessionId).not.toBe(
    sessionId,
  );
  await rig.say("msg-2", { text: "/new Kitchen" });
  await receiver.until(3);
  expect((await rig.store.reads.sessions(rig.owner, { limit: 9 })).sessions).toHaveLength(2);
});
