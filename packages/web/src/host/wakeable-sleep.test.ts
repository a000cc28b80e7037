import { expect, test } from "vitest";
import { createWakeableSleep } from "./wakeable-sleep.ts";

test("waking ends the pauses between retries, but not the timeout for a silent host", async () => {
  const { sleep, wake } = createWakeableSleep();
  const { signal } = new AbortController();
  const leaving = new AbortController();
  const ended: string[] = [];
  const pause = sleep(15_000, signal).then(() => ended.push("pause"));
  const silence = sleep(45_000, leaving.signal).then(() => ended.push("silence"));
  wake();
  await pause;
  expect(ended).toEqual(["pause"]);
  leaving.abort();
  await silence;
  expect(ended).toEqual(["pause", "silence"]);
});
