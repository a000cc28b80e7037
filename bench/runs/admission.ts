import { admitMessage, createLog } from "@holdfast/engine";
import { ids } from "@holdfast/protocol";

import { bare, ours } from "../harness/figures.ts";
import { interleave } from "../harness/interleave.ts";
import { type WorkloadDefinition } from "../harness/workload.ts";
import { growLog } from "../store/streams.ts";
import type { Bench } from "./bench.ts";
import { benchOwner } from "./engine.ts";

const text = "What a person writes is a sentence or two, and rarely more than that.";
const allowedMore = 0.4;

/** A message is accepted when it is durable: what does that cost besides the sync? */
export const admitAlone: WorkloadDefinition<Bench> = {
  id: "admission",
  title: "admission, nothing else going on",
  async measure({ backend, sizes }: Bench) {
    await using database = await backend.createDatabase();
    const store = await database.open();
    await growLog(store);
    await using driver = await database.openBare();
    const log = createLog(store);
    const { session } = await log.createSession({ owner: benchOwner });
    const measured = await interleave(
      [
        {
          name: ours,
          perRound: 25,
          async run(turn) {
            const input = { owner: benchOwner, session, clientId: `message-${turn}`, text };
            const { status } = await admitMessage(log, ids, input);
            if (status !== "accepted") throw new Error(`A message was ${status}.`);
          },
        },
        {
          name: bare,
          perRound: 25,
          run: (turn) =>
            driver.insert(JSON.stringify({ id: ids.make("event"), clientId: `m-${turn}`, text })),
        },
      ],
      sizes.pace,
    );
    await store.close();
    const limit = measured.of(bare).p50 + allowedMore;
    const figures = (pick: "p50" | "p99") =>
      [ours, bare].map((system) => ({
        system,
        value: measured.of(system)[pick],
        unit: "ms" as const,
      }));
    return {
      lines: [
        {
          what: "admission, p50",
          params: {},
          figures: figures("p50"),
          bound: {
            text: `≤ + ${allowedMore} ms (${limit.toFixed(2)} ms)`,
            met: measured.of(ours).p50 <= limit,
          },
        },
        { what: "admission, p99", params: {}, figures: figures("p99") },
      ],
    };
  },
};
