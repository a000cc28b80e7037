import { manualClock, nextTurn } from "@holdfast/testing/fakes/manual-clock";
import { expect, test } from "vitest";

import type { ChatAddress } from "../adapter.ts";
import { Pacer, type SendPriority } from "./pacing.ts";

const address = (chat: string): ChatAddress => ({ chat, thread: null, kind: "private" });

function openPacer(callsPerSecond = 1_000) {
  const clock = manualClock();
  const pacer = new Pacer({ paceMs: () => 1_000, callsPerSecond }, clock);
  const calls: string[] = [];
  const neverAborted = new AbortController().signal;
  const send = (name: string, priority: SendPriority = "new", onCall: () => void = () => {}) =>
    pacer.runPaced(address(name.slice(0, 1)), priority, neverAborted, async () => {
      calls.push(`${name} at ${clock.now()}`);
      onCall();
    });
  async function advance(ms: number): Promise<void> {
    await nextTurn();
    for (let elapsed = 0; elapsed < ms; elapsed += 10) await clock.advance(10);
  }
  return { clock, pacer, calls, send, advance };
}

test("calls to one chat are paced, and other chats don't wait for them", async () => {
  const { calls, send, advance } = openPacer();
  void send("a1");
  void send("a2");
  void send("b1");
  await advance(1_100);
  expect(calls).toEqual(["a1 at 0", "b1 at 10", "a2 at 1000"]);
});

test("a pause that the platform requests during a call outlasts the pace", async () => {
  const { pacer, calls, send, advance } = openPacer();
  void send("a1", "new", () => pacer.delayChat(address("a"), 5_000));
  void send("a2");
  await advance(4_900);
  expect(calls).toEqual(["a1 at 0"]);
  await advance(200);
  expect(calls).toEqual(["a1 at 0", "a2 at 5000"]);
});

test("new messages go before growing ones, within the platform's overall rate", async () => {
  const { calls, send, advance } = openPacer(10);
  void send("a1");
  for (const name of ["b1", "c1"]) void send(name, "growing");
  for (const name of ["d1", "e1"]) void send(name);
  await advance(500);
  expect(calls).toEqual(["a1 at 0", "d1 at 100", "e1 at 200", "b1 at 300", "c1 at 400"]);
});

test("nothing is sent while paused, and an aborted call is never made", async () => {
  const { pacer, calls, send, advance } = openPacer();
  const resumed = Promise.withResolvers<void>();
  pacer.pauseUntil(resumed.promise);
  const aborting = new AbortController();
  const aborted = pacer.runPaced(
    address("z"),
    "new",
    aborting.signal,
    async () => void calls.push("z"),
  );
  void send("a1");
  await advance(3_000);
  expect(calls).toEqual([]);
  aborting.abort();
  expect(await aborted).toBeNull();
  resumed.resolve();
  await advance(50);
  expect(calls).toHaveLength(1);
});
