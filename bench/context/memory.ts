import {
  admitMessage,
  createLog,
  MemoryCommitter,
  type MemoryOwner,
  type Store,
  systemClock,
} from "@holdfast/engine";
import { createRunner } from "@holdfast/testing/rigs/run-rig";
import { RecordingMemory } from "@holdfast/testing/rigs/memory-rig";
import { says, scriptedModel } from "@holdfast/testing/fakes/scripted-model";
import { ids } from "@holdfast/protocol";
import { createLiveness, currentHolder } from "@holdfast/store/identity";

import { ours } from "../harness/figures.ts";
import { type WorkloadDefinition } from "../harness/workload.ts";
import { benchOwner } from "../store/fill.ts";
import type { Bench } from "./bench.ts";

/** A host that boots with a backlog, and a provider that takes no time. */
export const commitMemory: WorkloadDefinition<Bench> = {
  id: "memory",
  title: "segments that are committed to memory",
  async measure({ backend, sizes: { remembering } }: Bench) {
    await using database = await backend.createDatabase();
    const store = await database.open();
    const provider = new RecordingMemory("one");
    await completeTurns(store, remembering, provider.owner);
    const keeper = new MemoryCommitter({
      log: createLog(store),
      ids,
      clock: systemClock,
      holder: () => currentHolder("memory"),
      liveness: createLiveness(),
      leaseMs: 30_000,
      providerTimeoutMs: 60_000,
      idleMs: 300_000,
      sweepMs: 60_000,
      providers: { current: () => provider.owner, open: async () => provider },
      onError(error) {
        throw error;
      },
    });
    const startedAt = performance.now();
    await keeper.drain(600_000);
    const seconds = (performance.now() - startedAt) / 1_000;
    const left = await store.reads.memory(benchOwner);
    await keeper.stop();
    await store.close();
    if (left.turns > 0) throw new Error(`${left.turns} turns were not committed.`);
    return {
      lines: [
        {
          what: "segments a second",
          params: { sessions: remembering },
          figures: [{ system: ours, value: remembering / seconds, unit: "/s" }],
        },
      ],
      notes: [
        "Each takes the session's lease, is written down as tried and as committed, and gives the lease back.",
      ],
    };
  },
};

/** One turn in each of this many sessions, marked as a run marks it. */
async function completeTurns(store: Store, count: number, owner: MemoryOwner): Promise<void> {
  const log = createLog(store);
  const model = scriptedModel(() => says("Noted."));
  const deps = { memoryOwnerOf: () => owner };
  const runner = createRunner(store, log, { model, clock: systemClock, deps });
  for (let index = 0; index < count; index += 1) {
    const { session } = await log.createSession({ owner: benchOwner });
    const input = { owner: benchOwner, session, clientId: "one", text: "I like tea." };
    await admitMessage(log, ids, input);
    runner.notify(benchOwner, session);
  }
  await runner.idle();
  await runner.stop();
}
