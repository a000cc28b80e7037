import * as fc from "fast-check";
import { expect, test } from "vitest";

import { type FileState, type WriteOrigin, ForeignWriteDetector } from "./watch.ts";

/** A file with a process that writes to it and is told by its own transactions of others, and others who write too. */
class World {
  readonly #whose = new ForeignWriteDetector();
  #version = 1;
  #transactions = 0;
  #others = 0;
  #isNewToUs = false;
  /** Others have written, and nobody has looked for what moved since. */
  isMissed = false;

  writeAsOthers(): void {
    this.#version += 1;
    this.#isNewToUs = true;
    this.isMissed = true;
  }

  beginOurs(): void {
    if (this.#isNewToUs) this.#others += 1;
    this.#isNewToUs = false;
    this.#transactions += 1;
  }

  commitOurs(): void {
    this.beginOurs();
    this.#version += 1;
  }

  look(): WriteOrigin {
    return this.#note(this.#whose.check(this.#now()));
  }

  lookAgain(): WriteOrigin {
    return this.#note(this.#whose.checkAgain(this.#now()));
  }

  #now(): FileState {
    return {
      version: this.#version,
      transactions: this.#transactions,
      foreignWrites: this.#others,
    };
  }

  #note(whose: WriteOrigin): WriteOrigin {
    if (whose === "others") this.isMissed = false;
    return whose;
  }
}

const step = fc.constantFrom(
  "writeAsOthers" as const,
  "beginOurs" as const,
  "commitOurs" as const,
  "look" as const,
  "lookAgain" as const,
);

test("whatever others write is looked for in the end, however it falls between our own writes and looks", () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 40 }), (steps) => {
      const world = new World();
      for (const each of steps) world[each]();
      for (let whose = world.look(), times = 0; whose === "perhaps"; times += 1) {
        expect(times).toBeLessThan(3);
        whose = world.lookAgain();
      }
      expect(world.isMissed).toBe(false);
    }),
    { numRuns: 2_000 },
  );
});

test("a stream of our own commits is never taken for others', and what others write beside it is found by the next of them", () => {
  const world = new World();
  world.look();
  for (let commit = 0; commit < 20; commit += 1) {
    world.commitOurs();
    expect(world.look()).toBe("perhaps");
    expect(world.look()).toBe("perhaps");
    expect(world.lookAgain()).toBe("perhaps");
  }
  world.writeAsOthers();
  world.commitOurs();
  expect(world.look()).toBe("others");
});

test("while we write nothing a change is others' at once, and where nothing changes there is nobody", () => {
  const world = new World();
  expect(world.look()).toBe("others");
  expect(world.look()).toBe("nobody");
  world.writeAsOthers();
  expect(world.look()).toBe("others");
  world.beginOurs();
  expect(world.look()).toBe("others");
  expect(world.look()).toBe("nobody");
});
