import { EventEmitter } from "node:events";
import { expect, test } from "vitest";
import { waitForStopSignal } from "./process-signals.ts";

class Pretended extends EventEmitter {
  readonly exits: number[] = [];
  exit(code: number): void {
    this.exits.push(code);
  }
}

function begin() {
  const clock = { now: 0 };
  const pretended = new Pretended();
  return { clock, pretended, asked: waitForStopSignal(pretended, () => clock.now) };
}

test.each(["SIGINT", "SIGTERM", "SIGHUP"])(
  "the first %s asks for an orderly end",
  async (signal) => {
    const { pretended, asked } = begin();
    pretended.emit(signal);
    await asked;
    expect(pretended.exits).toEqual([]);
  },
);

test("the echo of a press is no second press; the next press ends at once", () => {
  const { clock, pretended } = begin();
  pretended.emit("SIGINT");
  clock.now = 20;
  pretended.emit("SIGINT");
  expect(pretended.exits).toEqual([]);
  clock.now = 400;
  pretended.emit("SIGINT");
  expect(pretended.exits).toEqual([130]);
});
