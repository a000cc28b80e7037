import { ids, type RunState } from "@holdfast/protocol";
import { expect, test } from "vitest";

import { PendingPrompts } from "./pending-prompts.ts";

const completed = { state: "completed", cause: null } as const;

test("a prompt is answered although its run had ended before the host answered the request", async () => {
  const prompts = new PendingPrompts();
  const runId = ids.make("run");
  prompts.end(runId, completed);
  const { ended } = prompts.add(runId, null);
  expect(prompts.all()).toEqual([]);
  expect(await ended.promise).toBe("end_turn");
});

test("a prompt waits for its own run, and its second request gets the same answer", async () => {
  const prompts = new PendingPrompts();
  const [first, second] = [ids.make("run"), ids.make("run")];
  const prompt = prompts.add(first, null);
  prompts.add(second, null);
  prompts.end(second, completed);
  prompts.end(first, { state: "running", cause: null });
  expect(prompts.add(first, null)).toBe(prompt);
  expect(prompts.all()).toEqual([prompt]);
  prompt.isCancelled = true;
  prompts.end(first, completed);
  expect(await prompt.ended.promise).toBe("cancelled");
});

test("a message that was taken back ends its prompt, and a failed run rejects it with a sentence", async () => {
  const prompts = new PendingPrompts();
  const messageId = ids.make("message");
  const removed = prompts.add(ids.make("run"), messageId);
  prompts.removed(messageId);
  expect(await removed.ended.promise).toBe("cancelled");
  const failed = prompts.add(ids.make("run"), null);
  prompts.end(failed.runId, { state: "failed", cause: "empty_reply" });
  await expect(failed.ended.promise).rejects.toThrow(/\w+/);
});

const ends: readonly (readonly [RunState, string | null, string])[] = [
  ["completed", null, "end_turn"],
  ["cancelled", null, "cancelled"],
  ["failed", "model_output_limit", "max_tokens"],
  ["limit", "steps", "max_turn_requests"],
  ["limit", "time", "max_turn_requests"],
];

test.each(ends)(
  "a run that ends as %s (%s) answers its prompt with %s",
  async (state, cause, reason) => {
    const prompts = new PendingPrompts();
    const runId = ids.make("run");
    const { ended } = prompts.add(runId, null);
    prompts.end(runId, { state, cause });
    expect(await ended.promise).toBe(reason);
  },
);

test.each([
  ["failed", "model_refused"],
  ["limit", "spend_day"],
  ["interrupted", null],
] as const)("a run that ends as %s (%s) fails its prompt with the cause", async (state, cause) => {
  const prompts = new PendingPrompts();
  const runId = ids.make("run");
  const { ended } = prompts.add(runId, null);
  prompts.end(runId, { state, cause });
  await expect(ended.promise).rejects.toMatchObject({ code: -32603, data: { state, cause } });
});
