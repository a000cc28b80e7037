import { parseArgs } from "node:util";

import { runSimulations, tellFailure } from "./sim.ts";
import { type Subject, UsageError, wholeNumber } from "./subject.ts";

const everySeeds = 1_000;

/** Engine, store, clock, model and several hosts in this process, from one seed. */
export const simSubject: Subject = {
  usage: "sim [--seeds N] [--from 1] [--mode safety|liveness] [--trace]",
  async run(args) {
    const { values } = parseArgs({
      args: [...args],
      options: {
        seeds: { type: "string" },
        from: { type: "string", default: "1" },
        mode: { type: "string" },
        trace: { type: "boolean", default: false },
      },
    });
    const { mode } = values;
    if (mode !== undefined && mode !== "safety" && mode !== "liveness")
      throw new UsageError("There is no such mode.");
    const from = wholeNumber("from", values.from);
    const seeds = values.seeds === undefined ? Infinity : wholeNumber("seeds", values.seeds);
    const began = performance.now();
    const { figures, failed, ...done } = await runSimulations({
      from,
      seeds,
      mode,
      onSeed(count) {
        if (count % everySeeds !== 0) return;
        const rate = (count / (performance.now() - began)) * 1_000;
        console.log(`seeds ${from} to ${from + count - 1}: clean, ${rate.toFixed(0)} a second`);
      },
    });
    if (failed !== null && values.trace) console.log(failed.trace().join("\n"));
    if (failed !== null) console.log(tellFailure(failed));
    const seconds = (performance.now() - began) / 1_000;
    for (const [name, figure] of Object.entries({ seeds: done.seeds, ...figures, seconds }))
      console.log(`${name.padEnd(16)}${Math.round(figure)}`);
    return failed === null ? 0 : 1;
  },
};
