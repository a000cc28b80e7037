import { aHolder } from "@holdfast/testing/fixtures/factories";
import { openTestSession } from "@holdfast/testing/fixtures/open-session";

import { bare, bareInThread, ours } from "../harness/figures.ts";
import { interleave } from "../harness/interleave.ts";
import { type WorkloadDefinition } from "../harness/workload.ts";
import { type Bench, loopLine } from "./bench.ts";
import { growLog } from "./streams.ts";

/** The compaction lock, acquired and released: two commits. The store syncs the first, the drivers sync both. */
export const lockPairs: WorkloadDefinition<Bench> = {
  id: "W7",
  title: "lock, acquire and release",
  async measure({ backend, sizes }: Bench) {
    await using database = await backend.createDatabase();
    const store = await database.open();
    await growLog(store);
    await using driver = await database.openBare();
    const thread = await database.openBareThread?.();
    const session = await openTestSession(store);
    const holder = aHolder();
    const text = JSON.stringify(holder);
    const measured = await interleave(
      [
        {
          name: ours,
          perRound: 20,
          watchLoop: true,
          async run() {
            await store.leases.release(await session.lease("compaction", holder, 300_000));
          },
        },
        {
          name: bare,
          perRound: 20,
          async run() {
            await driver.insert(text);
            await driver.insert(text);
          },
        },
        ...(thread === undefined
          ? []
          : [
              {
                name: bareInThread,
                perRound: 20,
                async run() {
                  await thread.insert(text);
                  await thread.insert(text);
                },
              },
            ]),
      ],
      sizes.pace,
    );
    await thread?.[Symbol.asyncDispose]();
    await store.close();
    const rate = (system: string) => 1_000 / measured.of(system).mean;
    const ratio = rate(ours) / rate(bare);
    return {
      lines: [
        {
          what: "pairs a second (bare: two synced commits)",
          params: {},
          figures: [ours, bare, ...(thread ? [bareInThread] : [])].map((system) => {
            const { p50, p99, count } = measured.of(system);
            return { system, value: rate(system), unit: "/s" as const, more: { p50, p99, count } };
          }),
          bound: { text: "≥ 0.6×", met: ratio >= 0.6 },
        },
        loopLine(measured.loop),
      ],
    };
  },
};
