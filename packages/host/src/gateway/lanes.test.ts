import { createLog } from "@holdfast/engine";
import { laneKey, ownerId } from "@holdfast/protocol";
import { createReferenceStore } from "@holdfast/testing/reference-store/store";
import { expect, onTestFinished, test } from "vitest";

import { bindLane, chatAddressing, sessionForLane, sessionOfLane } from "./lanes.ts";
import { enqueueWelcome } from "./outbound/enqueue.ts";

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

test("a lane does not lead to a session that is in the trash, and begins another one", async () => {
  const store = createReferenceStore();
  onTestFinished(() => store.close());
  const log = createLog(store);
  const owner = ownerId.parse("owner");
  const lane = laneKey.parse("telegram:bot:p7:0");
  const deps = { log, owner };
  const first = await sessionForLane(deps, lane, "one");
  expect(await sessionOfLane(deps, lane)).toBe(first);
  await log.trashSession(owner, first);
  expect(await sessionOfLane(deps, lane)).toBeNull();
  expect(await sessionForLane(deps, lane, "two")).not.toBe(first);
});

test("a person is told that they are allowed once for each code, however often it is repeated", async () => {
  const store = createReferenceStore();
  onTestFinished(() => store.close());
  const owner = ownerId.parse("owner");
  const deps = { log: createLog(store), owner, addressing: chatAddressing("telegram", "bot") };
  for (const code of ["AAAA", "aaaa", "BBBB"])
    expect(await enqueueWelcome(deps, "7", code)).not.toBeNull();
  const notes = await store.reads.outbox(owner, { states: ["pending"], limit: 9 });
  expect(notes.map(({ kind, lane }) => [kind, lane])).toEqual([
    ["note", "telegram:bot:p7:0"],
    ["note", "telegram:bot:p7:0"],
  ]);
});
