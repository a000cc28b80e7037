import { performance } from "node:perf_hooks";

import { AgentCache, readContext, refreshContext, type Store, systemClock } from "@holdfast/engine";
import type { SessionId } from "@holdfast/protocol";
import { createTestAgent } from "@holdfast/testing/rigs/agent-rig";
import { aLane } from "@holdfast/testing/fixtures/factories";
import { assertPresent } from "@holdfast/testing/fixtures/open-session";

import { bare, lineOf, ours } from "../harness/figures.ts";
import { interleave } from "../harness/interleave.ts";
import { type WorkloadDefinition } from "../harness/workload.ts";
import { benchOwner } from "../store/fill.ts";
import type { Bench } from "./bench.ts";
import { createConversation } from "./sessions.ts";

const allowed = 2;
const maxLoopMs = 0.2;
const read = "the same read by the store";

/** Before each turn, a warm agent is compared with the store and its context brought up to date. */
export const checkCache: WorkloadDefinition<Bench> = {
  id: "cache",
  title: "whether a warm agent is up to date",
  async measure({ backend, sizes: { pace } }: Bench) {
    await using database = await backend.createDatabase();
    const store = await database.open();
    const session = await createConversation(store, 50);
    const lane = aLane();
    const { version } = assertPresent(await store.reads.session(benchOwner, session));
    const cache = new AgentCache({
      factory: { signature: async () => "one", build: async () => createTestAgent() },
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
            const borrowed = await cache.borrow({ owner: benchOwner, session, lane, version });
            borrowed.release({ version });
          },
        },
        { name: read, perRound: 50, run: () => store.reads.session(benchOwner, session) },
        { name: bare, perRound: 50, run: () => driver.tail(session, 1) },
      ],
      pace,
    );
    const loopMs = await loopTimeOfRefresh(store, session);
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
        lineOf("event loop, to see that a context is unchanged, mean", loopMs, "ms", {
          below: maxLoopMs,
        }),
      ],
    };
  },
};

const refreshes = 500;

/** On SQLite the session's row is read on the event loop, so that time counts; waiting for a server does not. */
async function loopTimeOfRefresh(store: Store, session: SessionId): Promise<number> {
  const known = assertPresent(await readContext(store.reads, benchOwner, session));
  const refresh = async (times: number): Promise<void> => {
    for (let count = 0; count < times; count += 1)
      await refreshContext(store.reads, benchOwner, session, known);
  };
  await refresh(refreshes);
  // The event loop adds an iteration's time only once that iteration is over.
  await systemClock.sleep(1);
  const before = performance.eventLoopUtilization();
  await refresh(refreshes);
  await systemClock.sleep(1);
  return performance.eventLoopUtilization(before).active / refreshes;
}
