import { createLog } from "@holdfast/engine";
import { laneKey, ownerId } from "@holdfast/protocol";
import { createReferenceStore } from "@holdfast/testing/reference-store/store";
import { expect, onTestFinished, test } from "vitest";

import { bindLane } from "./lanes.ts";

test("memory is told of the session that a lane leaves, and of none while it stays", async () => {
  const store = createReferenceStore();
  onTestFinished(() => store.close());
  const log = createLog(store);
  const owner = ownerId.parse("owner");
  const lane = laneKey.parse("telegram:bot:p7:0");
  const { session: first } = await log.createSession({ owner, lane });
  const { session: second } = await log.createSession({ owner });
  const left: string[] = [];
  const memory = { boundary: async (_: unknown, session: string) => void left.push(session) };
  const deps = { log, owner, memory };
  await bindLane(deps, lane, first, "stays");
  expect(left).toEqual([]);
  await bindLane(deps, lane, second, "moves");
  expect(left).toEqual([first]);
});
