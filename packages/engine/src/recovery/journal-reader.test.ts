import { type Fence, ids } from "@holdfast/protocol";
import { manualClock } from "@holdfast/testing/fakes/manual-clock";
import { expect, test } from "vitest";

import type { SpillReadResult, SpillStore } from "../ports/spill.ts";
import { JournalReader } from "./journal-reader.ts";

test("a folder that fails to read is asked again, instead of leaving the journal claimed", async () => {
  const answers: (() => Promise<SpillReadResult>)[] = [
    () => Promise.reject(new Error("The disk is gone.")),
    async () => ({ status: "known_empty" }),
  ];
  const spills = { read: () => answers.shift()?.() } as Partial<SpillStore> as SpillStore;
  const reader = new JournalReader({ spills, clock: manualClock() });
  const ref = {
    session: ids.make("session"),
    runId: ids.make("run"),
    fence: 1 as Fence,
    place: "here",
  };
  const read = () => reader.read(ref, async () => undefined);
  expect([await read(), await read()]).toEqual([{ status: "arriving" }, { status: "known_empty" }]);
});
