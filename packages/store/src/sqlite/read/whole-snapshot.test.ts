import { aDelta, aRunId, openSession } from "@holdfast/engine/testing";
import { expect, test } from "vitest";

import { createMemoryStore } from "../../memory/index.ts";
import { readWholeSnapshot } from "./whole-snapshot.ts";

test("deltas that are cleared away while they are read make it read another instant", async () => {
  const session = await (await openSession(createMemoryStore())).row();
  const common = { session, entries: { rows: [], more: false }, run: null, inbox: [], journal: [] };
  const { id, type, runId } = aDelta(aRunId());
  const instants = [
    { ...common, deltas: { rows: [[9, id, type, 1, 0, runId ?? null, 0, 0, "{}"]], older: 8 } },
    { ...common, deltas: { rows: [], older: null } },
  ];
  const snapshot = await readWholeSnapshot(
    {
      snapshot: async () => instants.shift() ?? null,
      deltas: async () => ({ rows: [], older: null }),
    },
    () => {},
  );
  expect(snapshot?.journal).toEqual([]);
  expect(instants).toEqual([]);
});
