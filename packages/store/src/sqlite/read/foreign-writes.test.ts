import * as fc from "fast-check";
import { expect, test } from "vitest";

import { type FileState, type WriteOrigin, ForeignWriteDetector } from "./watch.ts";

/** A file that our process and others write to. Our own transactions notice foreign writes. */
class World {
  readonly #detector = new ForeignWriteDetector();
  #version = 1;
  #transactions = 0;
  #foreignWrites = 0;
  #isNewToUs = false;
  /** Others have written, and nobody has checked since. */
  isMissed = false;

  writeAsOthers(): void {
    this.#version += 1;
    this.#isNewToUs = true;
    this.isMissed = true;
  }

  beginOurs(): void {
    if (this.#isNewToUs) this.#foreignWrites += 1;
    this.#isNewToUs = false;
    this.#transactions += 1;
  }

  commitOurs(): void {
    this.beginOurs();
    this.#version += 1;
  }

  check(): WriteOrigin {
    return this.#note(this.#detector.check(this.#now()));
  }

  recheck(): WriteOrigin {
    return this.#note(this.#detector.checkAgain(this.#now()));
  }

  #now(): FileState {
    return {
      version: this.#version,
      transactions: this.#transactions,
      foreignWrites: this.#foreignWrites,
    };
  }

  #note(origin: WriteOrigin): WriteOrigin {
    if (origin === "foreign") this.isMissed = false;
    return origin;
  }
}

const stepArb = fc.constantFrom(
  "writeAsOthers" as const,
  "beginOurs" as const,
  "commitOurs" as const,
  "check" as const,
  "recheck" as const,
);

test("every foreign write is detected in the end, however it interleaves with our writes and checks", () => {
  fc.assert(
    fc.property(fc.array(stepArb, { maxLength: 40 }), (steps) => {
      const world = new World();
      for (const step of steps) world[step]();
      for (let origin = world.check(), rechecks = 0; origin === "unsure"; rechecks += 1) {
        expect(rechecks).toBeLessThan(3);
        origin = world.recheck();
      }
      expect(world.isMissed).toBe(false);
    }),
    { numRuns: 2_000 },
  );
});

test("a stream of our own commits is never taken for foreign writes, and the next one detects a real foreign write", () => {
  const world = new World();
  world.check();
  for (let commit = 0; commit < 20; commit += 1) {
    world.commitOurs();
    expect(world.check()).toBe("unsure");
    expect(world.check()).toBe("unsure");
    expect(world.recheck()).toBe("unsure");
  }
  world.writeAsOthers();
  world.commitOurs();
  expect(world.check()).toBe("foreign");
});

test("while we write nothing, a change is foreign at once, and no change means no write", () => {
  const world = new World();
  expect(world.check()).toBe("foreign");
  expect(world.check()).toBe("none");
  world.writeAsOthers();
  expect(world.check()).toBe("foreign");
  world.beginOurs();
  expect(world.check()).toBe("foreign");
  expect(world.check()).toBe("none");
});
