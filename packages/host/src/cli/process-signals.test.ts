import { EventEmitter } from "node:events";
import { expect, test } from "vitest";
import { waitForStopSignal } from "./process-signals.ts";

class FakeProcess extends EventEmitter {
  readonly exits: number[] = [];
  exit(code: number): void {
    this.exits.push(code);
  }
}

function openWait() {
  const clock = { now: 0 };
  const fakeProcess = new FakeProcess();
  return { clock, fakeProcess, stopped: waitForStopSignal(fakeProcess, () => clock.now) };
}

test.each(["SIGINT", "SIGTERM", "SIGHUP"])(
  "the first %s asks for an orderly end",
  async (signal) => {
    const { fakeProcess, stopped } = openWait();
    fakeProcess.emit(signal);
    await stopped;
    expect(fakeProcess.exits).toEqual([]);
  },
);

test("the duplicate of a Ctrl-C is ignored, and a second one exits at once", () => {
  const { clock, fakeProcess } = openWait();
  fakeProcess.emit("SIGINT");
  clock.now = 20;
  fakeProcess.emit("SIGINT");
  expect(fakeProcess.exits).toEqual([]);
  clock.now = 400;
  fakeProcess.emit("SIGINT");
  expect(fakeProcess.exits).toEqual([130]);
});
