import { appendFileSync, existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { PlatformAdapter } from "@holdfast/host/gateway";
import { createFolder } from "@holdfast/testing/process/folder";
import { expect, test } from "vitest";
import {
  createFolderAdapter,
  type Outbound,
} from "../../examples/write-a-platform-adapter/folder-adapter.ts";
import { startExample } from "./example.ts";

const start = (folder: string, msPerWord: number) =>
  startExample("write-a-platform-adapter/main.ts", [], {
    cwd: folder,
    env: { MS_PER_WORD: String(msPerWord) },
  });

function say(folder: string, id: string, text: string, from = "ann"): void {
  mkdirSync(join(folder, "chat"), { recursive: true });
  const line = JSON.stringify({ id, chat: "kitchen", from, text });
  appendFileSync(join(folder, "chat", "inbox.jsonl"), `${line}\n`);
}

function shownIn(folder: string): string[] {
  const file = join(folder, "chat", "outbox.jsonl");
  const lines = existsSync(file) ? readFileSync(file, "utf8").split("\n").slice(0, -1) : [];
  return lines.map((line) => (JSON.parse(line) as Outbound).text);
}

function partition<T>(items: readonly T[], isFirst: (item: T) => boolean): [T[], T[]] {
  return [items.filter(isFirst), items.filter((item) => !isFirst(item))];
}

const answerTo = (text: string): string =>
  `You said "${text}", and I have thought about it for quite a while before I answered.`;

test("[P11] a message received before kill -9 is answered after it, once and completely", async () => {
  const folder = createFolder();
  const first = start(folder, 300);
  await first.saying(/Write to chat/);
  say(folder, "1", "Hello");
  await first.saying(/thinking: and/);
  await first.kill();
  expect(shownIn(folder)).toEqual([]);

  start(folder, 1);
  await expect.poll(() => shownIn(folder).join(" ")).toContain("answered.");
  say(folder, "2", "And then?");
  await expect.poll(() => shownIn(folder).at(-1)).toBe(answerTo("And then?"));
  const [notices, answers] = partition(shownIn(folder), (text) => text.startsWith("⚠"));
  expect(answers.join("")).toBe(answerTo("Hello") + answerTo("And then?"));
  expect(notices).toEqual([expect.stringContaining("stopped in the middle of this answer")]);
});

test("[P11] an answer sent just before kill -9 is not sent again", async () => {
  const folder = createFolder();
  say(folder, "1", "Hello");
  const first = start(folder, 1);
  await expect.poll(() => shownIn(folder)).toEqual([answerTo("Hello")]);
  await first.kill();

  const second = start(folder, 1);
  say(folder, "2", "And then?");
  await expect.poll(() => shownIn(folder)).toEqual(["Hello", "And then?"].map(answerTo));
  second.signal("SIGINT");
  expect(await second.exited).toEqual({ code: 0, signal: null });
});

test("a person who is not allowed gets a code and no answer", async () => {
  const folder = createFolder();
  say(folder, "1", "Let me in", "stranger");
  start(folder, 1);
  await expect.poll(() => shownIn(folder)).toHaveLength(1);
  expect(shownIn(folder)[0]).not.toContain("You said");
});

const soon = () => AbortSignal.timeout(10_000);
const kitchen = { chat: "kitchen", thread: null, kind: "private" } as const;
const sendOnce = (adapter: PlatformAdapter, text: string) =>
  adapter.send(kitchen, { text }, { id: "one", replyTo: null }, soon());

test("a message sent twice with one id is shown once", async () => {
  const folder = createFolder({ "chat/inbox.jsonl": "" });
  const adapter = createFolderAdapter(join(folder, "chat"));
  for (const _ of ["first", "again"])
    expect(await sendOnce(adapter, "Hi")).toEqual({ status: "sent", platformId: "one" });
  expect(shownIn(folder)).toEqual(["Hi"]);
});

test("receive repeats a page until the next one is requested, and leaves out a line still being written", async () => {
  const folder = createFolder();
  say(folder, "1", "Hello");
  appendFileSync(join(folder, "chat", "inbox.jsonl"), '{"id":"2","chat":"kit');
  const adapter = createFolderAdapter(join(folder, "chat"));
  const page = await adapter.receive(0, "look", soon());
  expect(page).toMatchObject({ incoming: [{ messageId: "1", text: "Hello" }], next: 1 });
  expect(await adapter.receive(0, "look", soon())).toEqual(page);
  expect(await adapter.receive(1, "look", soon())).toMatchObject({ incoming: [], next: 1 });
});

test("an unreachable folder is a failure that certainly had no effect", async () => {
  const folder = createFolder();
  const file = join(folder, "chat");
  writeFileSync(file, "not a folder");
  const adapter = createFolderAdapter(file);
  expect(await sendOnce(adapter, "Hi")).toMatchObject({ status: "later", isAway: true });
  expect(await adapter.receive(0, "look", soon())).toMatchObject({ status: "later" });
});
