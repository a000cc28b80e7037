import { manualClock, nextTurn } from "@holdfast/testing/fakes/manual-clock";
import { expect, test } from "vitest";

import type { ChatAddress } from "../adapter.ts";
import { Pacer, type SendPriority } from "./pacing.ts";

const place = (chat: string): ChatAddress => ({ chat, thread: null, kind: "private" });

function openPacer(callsPerSecond = 1_000) {
  const clock = manualClock();
  const pacer = new Pacer({ paceMs: () => 1_000, callsPerSecond }, clock);
  const went: string[] = [];
  const never = new AbortController().signal;
  const ask = (name: string, urgency: SendPriority = "new", more: () => void = () => {}) =>
    pacer.runPaced(place(name.slice(0, 1)), urgency, never, async () => {
      went.push(`${name} at ${clock.now()}`);
      more();
    });
  async function pass(ms: number): Promise<void> {
    await nextTurn();
    for (let passed = 0; passed < ms; passed += 10) await clock.advance(10);
  }
  return { clock, pacer, went, ask, pass };
}

test("in a chat one goes after the other at its pace, and other chats do not wait for it", async () => {
  const { went, ask, pass } = openPacer();
  void ask("a1");
  void ask("a2");
  void ask("b1");
  await pass(1_100);
  expect(went).toEqual(["a1 at 0", "b1 at 10", "a2 at 1000"]);
});

test("a pause that the platform asked for during a call outlasts the pace", async () => {
  const { pacer, went, ask, pass } = openPacer();
  void ask("a1", "new", () => pacer.delayChat(place("a"), 5_000));
  void ask("a2");
  await pass(4_900);
  expect(went).toEqual(["a1 at 0"]);
  await pass(200);
  expect(went).toEqual(["a1 at 0", "a2 at 5000"]);
});

test("what nobody has seen yet goes before what only grows, within what the platform takes in all", async () => {
  const { went, ask, pass } = openPacer(10);
  void ask("a1");
  for (const name of ["b1", "c1"]) void ask(name, "growing");
  for (const name of ["d1", "e1"]) void ask(name);
  await pass(500);
  expect(went).toEqual(["a1 at 0", "d1 at 100", "e1 at 200", "b1 at 300", "c1 at 400"]);
});

test("while it is shut nothing goes, and who is called off never does", async () => {
  const { pacer, went, ask, pass } = openPacer();
  const opened = Promise.withResolvers<void>();
  pacer.pauseUntil(opened.promise);
  const off = new AbortController();
  const called = pacer.runPaced(place("z"), "new", off.signal, async () => void went.push("z"));
  void ask("a1");
  await pass(3_000);
  expect(went).toEqual([]);
  off.abort();
  expect(await called).toBeNull();
  opened.resolve();
  await pass(50);
  expect(went).toHaveLength(1);
});
