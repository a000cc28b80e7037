import process from "node:process";
import { setImmediate as nextTurn } from "node:timers/promises";
import * as fc from "fast-check";
import { expect, onTestFinished, test } from "vitest";

import { sleep, withTimeout } from "./timing.ts";

/** A clock whose one sleep ends when the test says so. It shows whether the sleep was aborted. */
function gatedClock() {
  const gate = Promise.withResolvers<void>();
  let signal: AbortSignal | undefined;
  return {
    ring: gate.resolve,
    isCalledOff: () => signal?.aborted,
    clock: {
      sleep(_ms: number, until: AbortSignal): Promise<void> {
        signal = until;
        until.addEventListener("abort", () => gate.resolve());
        if (until.aborted) gate.resolve();
        return gate.promise;
      },
    },
  };
}

function unhandledRejections(): readonly unknown[] {
  const seen: unknown[] = [];
  const note = (reason: unknown): void => void seen.push(reason);
  process.on("unhandledRejection", note);
  onTestFinished(() => void process.off("unhandledRejection", note));
  return seen;
}

const never = (): Promise<never> => new Promise(() => {});

test("work that ends in time returns its value, and the timer is cleared", async () => {
  const { clock, isCalledOff } = gatedClock();
  const result = await withTimeout({ clock, ms: 10 }, async () => "value");
  expect(result).toEqual({ status: "done", value: "value" });
  expect(isCalledOff()).toBe(true);
});

test("work that takes too long is late, and its signal is aborted", async () => {
  const { clock, ring } = gatedClock();
  let given: AbortSignal | undefined;
  const waiting = withTimeout({ clock, ms: 10 }, (signal) => {
    given = signal;
    return never();
  });
  expect(given?.aborted).toBe(false);
  ring();
  expect(await waiting).toEqual({ status: "late" });
  expect(given?.aborted).toBe(true);
});

test("the real timer makes work late", async () => {
  expect(await withTimeout({ clock: { sleep }, ms: 1 }, never)).toEqual({ status: "late" });
});

test.each(["before", "during"])("a signal aborted %s the wait ends it", async (moment) => {
  const { clock } = gatedClock();
  const leaving = new AbortController();
  if (moment === "before") leaving.abort();
  const waiting = withTimeout({ clock, ms: 10, signal: leaving.signal }, never);
  leaving.abort();
  expect(await waiting).toEqual({ status: "aborted" });
});

test.each([
  ["rejects", () => Promise.reject(new Error("broken"))],
  [
    "throws at once",
    () => {
      throw new Error("broken");
    },
  ],
])("work that %s in time rejects, and no timer is left", async (_, work: () => Promise<never>) => {
  const started: AbortSignal[] = [];
  const clock = {
    sleep(ms: number, signal: AbortSignal) {
      started.push(signal);
      return sleep(ms, signal);
    },
  };
  await expect(withTimeout({ clock, ms: 60_000 }, work)).rejects.toThrow("broken");
  expect(started.every(({ aborted }) => aborted)).toBe(true);
});

test("a rejection after the wait is dropped", async () => {
  const unhandled = unhandledRejections();
  const { clock, ring } = gatedClock();
  const work = Promise.withResolvers<never>();
  const waiting = withTimeout({ clock, ms: 10 }, () => work.promise);
  ring();
  expect(await waiting).toEqual({ status: "late" });
  work.reject(new Error("too late"));
  await nextTurn();
  expect(unhandled).toEqual([]);
});

test("in any order of events there is one result and nothing is left behind", async () => {
  const unhandled = unhandledRejections();
  const happenings = fc.shuffledSubarray(["resolve", "reject", "ring", "abort"] as const, {
    minLength: 1,
  });
  await fc.assert(
    fc.asyncProperty(happenings, async (order) => {
      const { clock, ring, isCalledOff } = gatedClock();
      const leaving = new AbortController();
      const work = Promise.withResolvers<string>();
      const waiting = withTimeout({ clock, ms: 10, signal: leaving.signal }, () => work.promise);
      const outcome = waiting.then(
        ({ status }) => status,
        () => "rejected",
      );
      for (const happening of order) {
        if (happening === "resolve") work.resolve("value");
        if (happening === "reject") work.reject(new Error("broken"));
        if (happening === "ring") ring();
        if (happening === "abort") leaving.abort();
        await nextTurn();
      }
      const expected = { resolve: "done", reject: "rejected", ring: "late", abort: "aborted" };
      expect(await outcome).toBe(order[0] && expected[order[0]]);
      expect(isCalledOff()).toBe(true);
    }),
  );
  expect(unhandled).toEqual([]);
});
