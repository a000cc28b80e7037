import { beforeEach, expect, test } from "vitest";

import { requirePage } from "./page/require-page.ts";
import { textIn, valueOf } from "./served-host.ts";
import { untilShown, serveBot, showsText, startFakeBotApi } from "./telegram-rig.ts";

beforeEach(requirePage);

test("a message to the bot is one turn, and its answer is one message that grows until complete", async () => {
  const platform = await startFakeBotApi();
  const { client } = await serveBot(platform);
  const bot = await client.readGateway();
  expect(valueOf(bot).platform).toBe("telegram");
  platform.say(7, "Hello {rate:40} {words:80}");
  await untilShown(platform, (messages) => messages.some(({ edits }) => edits > 0));
  const [session, ...others] = valueOf(await client.listSessions()).sessions;
  expect(others).toEqual([]);
  const params = { id: session!.id };
  await untilShown(platform, (messages) =>
    messages.some(({ text }) => text.split(/\s+/).length >= 80),
  );
  const plain = (text: string) => text.replaceAll(/[^\p{L}\p{N}]+/gu, " ").trim();
  const answered = async () => {
    const { entries, run } = valueOf(await client.readSession({ params }));
    const texts = entries.flatMap((entry) =>
      entry.type === "message" && entry.role === "assistant" ? [textIn(entry)] : [],
    );
    return [run?.state, plain(texts.join(" ")) === plain(platform.shownIn(7)[0]?.text ?? "")];
  };
  // The last words are shown before or after they are settled.
  await expect.poll(answered).toEqual(["completed", true]);
  expect(platform.shownIn(7)).toHaveLength(1);
});

test("unknown people get one line with a code, groups get none, and a confirmed person is told so and answered", async () => {
  const platform = await startFakeBotApi();
  const { client } = await serveBot(platform);
  platform.say(55, "Let me in");
  await untilShown(platform, showsText("code"));
  const [request] = valueOf(await client.readGateway()).requests;
  expect(platform.shownIn(55)[0]?.text).toContain(request!.code);
  platform.say(55, "Please");
  platform.say(-900, "Anybody?", { from: { id: 56, is_bot: false, first_name: "Mallory" } });
  const wrong = await client.decidePairing({
    params: { code: "WRONG123" },
    body: { decision: "allow" },
  });
  expect(wrong.ok).toBe(false);
  const params = { code: request!.code };
  valueOf(await client.decidePairing({ params, body: { decision: "allow" } }));
  await untilShown(platform, showsText("You're in"));
  platform.say(55, "Now then {words:5}");
  await untilShown(platform, () => platform.shownIn(55).length === 3);
  expect(platform.shownIn(-900)).toEqual([]);
  const { people, requests } = valueOf(await client.readGateway());
  expect([people, requests]).toMatchObject([[{ person: "55", state: "allowed" }], []]);
  expect(valueOf(await client.listSessions()).sessions).toHaveLength(1);
});

test("commands move the lane, and the chat continues where it was moved to", async () => {
  const platform = await startFakeBotApi();
  const { client } = await serveBot(platform);
  platform.say(7, "About gardens {words:3}");
  await untilShown(platform, () => platform.shownIn(7).length === 1);
  platform.say(7, "/new Kitchen");
  await untilShown(platform, showsText("New session started"));
  platform.say(7, "About pots {words:3}");
  await untilShown(platform, () => platform.shownIn(7).length === 3);
  platform.say(7, "/resume gardens");
  await untilShown(platform, showsText("This chat is now in"));
  platform.say(7, "/nonsense");
  await untilShown(platform, showsText("There is no command /nonsense"));
  const { sessions } = valueOf(await client.listSessions());
  expect(sessions.map(({ title }) => title)).toContain("Kitchen");
  expect(sessions).toHaveLength(2);
  const { lanes } = valueOf(await client.readGateway());
  const garden = sessions.find(({ title }) => title?.includes("gardens"));
  expect(lanes).toMatchObject([{ sessionId: garden?.id }]);
});

test("[P6] a question waits as buttons through a kill of the host, and only its asker's press counts", async () => {
  const platform = await startFakeBotApi();
  const first = await serveBot(platform);
  platform.say(7, 'Go {tool:terminal {"command":"echo done-by-tool"}}');
  await untilShown(platform, (messages) => messages.some(({ buttons }) => buttons.length > 0));
  await first.host.kill();
  const second = await serveBot(platform, { HOLDFAST_HOME: first.home });
  const question = platform.messages.find(({ buttons }) => buttons.length > 0)!;
  platform.press(7, question, "Allow once", 8);
  const [, , id = ""] = question.buttons[0]!.data.split(":");
  platform.push({
    callback_query: {
      id: "forged",
      from: { id: 8, is_bot: false, first_name: "Mallory" },
      message: { message_id: question.id, chat: { id: 7, type: "private" }, date: 0 },
      data: `a:o:${id}:8`,
    },
  });
  platform.press(7, question, "Allow once");
  await untilShown(platform, showsText("Allowed once"));
  await untilShown(platform, (messages) => messages.at(-1)?.id !== question.id);
  for (const refused of platform.acknowledged.slice(0, 2))
    expect(refused.text).toBe("Only the person who was asked can answer this.");
  expect(question.buttons).toEqual([]);
  expect(valueOf(await second.client.listApprovals()).approvals).toEqual([]);
});

test("a question of the model is answered in the chat by one of its choices, and not by a bare yes", async () => {
  const platform = await startFakeBotApi();
  await serveBot(platform);
  platform.say(7, '{tool:ask_user {"question":"Which colour?","choices":["red","blue"]}}');
  await untilShown(platform, (messages) => messages.some(({ buttons }) => buttons.length > 0));
  const question = platform.messages.find(({ buttons }) => buttons.length > 0)!;
  expect(question.text).toContain("Which colour?");
  expect(question.buttons.map(({ text }) => text)).toEqual(["red", "blue", "Skip"]);
  const [, , id = ""] = question.buttons[0]!.data.split(":");
  for (const data of [`a:o:${id}`, `q:7:${id}`])
    platform.push({
      callback_query: {
        id: data,
        from: { id: 7, is_bot: false, first_name: "Ada" },
        message: { message_id: question.id, chat: { id: 7, type: "private" }, date: 0 },
        data,
      },
    });
  platform.press(7, question, "blue");
  await untilShown(platform, showsText("answered “blue”"));
  expect(question.text).toContain("✔ blue");
  for (const refused of platform.acknowledged.slice(0, 2))
    expect(refused.text).toBe("That is not one of the answers.");
});

test("/stop ends the answer, and what was said stays", async () => {
  const platform = await startFakeBotApi();
  await serveBot(platform);
  platform.say(7, "Tell {rate:20} {words:2000}");
  await untilShown(platform, () => platform.shownIn(7).length === 1);
  platform.say(7, "/stop");
  await untilShown(platform, showsText("Stopped."));
  expect(platform.shownIn(7)[0]?.text.length).toBeGreaterThan(0);
});

test("a file from a person is put in the workspace, and one from the agent is sent to the chat", async () => {
  const platform = await startFakeBotApi();
  await serveBot(platform);
  platform.files.set("file-1", Buffer.from("to and fro"));
  const caption = 'Back, please {tool:send_file {"path":"attachments/in (1).txt"}} {words:3}';
  const document = { file_id: "file-1", file_name: "../in (1).txt", file_size: 10 };
  platform.say(7, "", { text: undefined, caption, document });
  await untilShown(platform, () => platform.shownIn(7).some(({ file }) => file !== null));
  const sent = platform.shownIn(7).find(({ file }) => file !== null)?.file;
  expect([sent?.name, sent?.bytes.toString()]).toEqual(["in (1).txt", "to and fro"]);
});

test("[P11] of two hosts on one store one has the bot, and the other takes over when that one is killed", async () => {
  const platform = await startFakeBotApi();
  const first = await serveBot(platform);
  const standing = async ({ client }: Pick<typeof first, "client">) => {
    const { state, trouble } = valueOf(await client.readGateway());
    return [state, trouble?.code];
  };
  const soon = { interval: 100 };
  await expect.poll(() => standing(first), soon).toEqual(["receiving", undefined]);
  const second = await serveBot(platform, { HOLDFAST_HOME: first.home });
  await expect.poll(() => standing(second), soon).toEqual(["contended", "held_elsewhere"]);
  platform.say(7, "Before {words:3}");
  await untilShown(platform, () => platform.shownIn(7).length === 1);
  // If it were killed before it has recorded the answer as sent, the next one would rightly add a mark.
  const pendingCount = async () => valueOf(await first.client.readGateway()).outbox;
  await expect.poll(pendingCount, soon).toEqual([]);
  await first.host.kill();
  platform.say(7, "After {words:3}");
  await untilShown(platform, () => platform.shownIn(7).length === 2);
  expect(await standing(second)).toEqual(["receiving", undefined]);
  const [session] = valueOf(await second.client.listSessions()).sessions;
  const params = { id: session!.id };
  const said = async () =>
    valueOf(await second.client.readSession({ params })).entries.flatMap((entry) =>
      entry.type === "message" && entry.role === "user" ? [textIn(entry)] : [],
    );
  await expect.poll(said, soon).toEqual(["Before {words:3}", "After {words:3}"]);
});
