import { AgentCache, systemClock } from "@holdfast/engine";
import { createTestAgent } from "@holdfast/testing/rigs/agent-rig";
import { aLane } from "@holdfast/testing/fixtures/factories";

import { bare, ours } from "../harness/figures.ts";
import { interleave } from "../harness/interleave.ts";
import { type WorkloadDefinition } from "../harness/workload.ts";
import { benchOwner } from "../store/fill.ts";
import type { Bench } from "./bench.ts";
import { createConversation } from "./sessions.ts";

const allowed = 2;
const read = "the same read by the store";

/** Before each turn a warm agent is compared with what is stored. */
export const checkCache: WorkloadDefinition<Bench> = {
  id: "cache",
  title: "whether a warm agent is up to date",
  async measure({ backend, sizes: { pace } }: Bench) {
    await using database = await backend.createDatabase();
    const store = await database.open();
    const session = await createConversation(store, 50);
    const lane = aLane();
    const version = (await store.reads.session(benchOwner, session))?.version ?? 0;
    const cache = new AgentCache({
      factory: { signature: async () => "one", build: async () => createTestAgent() },
      readVersion: async (owner, id) => (await store.reads.session(owner, id))?.version ?? null,
      clock: systemClock,
      limits: { bytes: 1e9, count: 100, idleMs: 1e9, baselines: 32 },
      beforeClose: async () => {},
      memory: () => "enough",
      sizeOf: () => 1,
      closeBudgetMs: 1_000,
      onError(error) {
        throw error;
      },
    });
    await using driver = await database.openBareReads();
    const measured = await interleave(
      [
        {
          name: ours,
          perRound: 50,
          async run() {
            const borrowed = await cache.borrow({ owner: benchOwner, session, lane });
            borrowed.release({ version });
          },
        },
        { name: read, perRound: 50, run: () => store.reads.session(benchOwner, session) },
        { name: bare, perRound: 50, run: () => driver.tail(session, 1) },
      ],
      pace,
    );
    await store.close();
    const ratio = measured.of(ours).p50 / measured.of(bare).p50;
    const figures = [ours, read, bare].map((system) => ({
      system,
      value: measured.of(system).p50,
      unit: "ms" as const,
    }));
    const text = `≤ ${allowed} × the bare driver`;
    return {
      lines: [
        { what: "a check, p50", params: {}, figures, bound: { text, met: ratio <= allowed } },
      ],
    };
  },
};
