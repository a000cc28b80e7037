import { join } from "node:path";
import { openSqliteStore } from "@holdfast/store";
import { createFolder } from "@holdfast/testing/process/folder";
import { expect, onTestFinished, test } from "vitest";
import { readConversation, startExample } from "./example.ts";

const start = (folder: string, args: readonly string[], msPerWord: number) =>
  startExample("embed-the-engine/main.ts", args, {
    cwd: folder,
    env: { MS_PER_WORD: String(msPerWord) },
  });

test("[P5] the next start finishes an answer that kill -9 interrupted, and the conversation continues", async () => {
  const folder = createFolder();
  const first = start(folder, [], 300);
  await first.saying(/This is answer 1\. A lighthouse/);
  await first.kill();
  const seen = first.stdout();
  expect(seen).not.toContain("charts.");

  const second = start(folder, [], 1);
  expect(await second.exited).toEqual({ code: 0, signal: null });
  const answer = second.stdout().trimEnd();
  expect(answer.startsWith(seen)).toBe(true);
  expect(answer).toMatch(/^This is answer 1\. A lighthouse .* in the sea charts\.$/);

  const third = start(folder, ["And by day?", "question-2"], 1);
  await third.exited;
  expect(third.stdout()).toMatch(/^This is answer 2\./);

  const store = await openSqliteStore({ file: join(folder, "conversation.db") });
  onTestFinished(() => store.close());
  expect(await readConversation(store)).toEqual([
    { user: "Why do lighthouses blink?", assistant: answer },
    { user: "And by day?", assistant: third.stdout().trimEnd() },
  ]);
});

test("a finished answer is shown again without asking the model again", async () => {
  const folder = createFolder();
  const first = start(folder, [], 1);
  await first.exited;
  const again = start(folder, [], 1);
  await again.exited;
  expect(again.stdout()).toBe(first.stdout());
  expect(again.stdout()).toContain("answer 1");
});
