import { parseArgs } from "node:util";

import { simulate } from "@holdfast/testing/simulator/simulate";

import { openReferenceStore, describeFailure } from "./run.ts";
import { simulateInWorkers } from "./worker-pool.ts";
import { updateReport } from "../report.ts";
import { type Subject, UsageError, wholeNumber } from "../subject.ts";

const everySeeds = 1_000;

/** Engine, store, clock, model and several hosts in one thread, from one seed; seed after seed, in several threads. */
export const simSubject: Subject = {
  usage:
    "sim [--seeds N] [--from 1] [--workers 1] [--mode safety|liveness] [--trace SEED] [--report docs/chaos.md]",
  async run(args) {
    const { values } = parseArgs({
      args: [...args],
      options: {
        seeds: { type: "string" },
        from: { type: "string", default: "1" },
        workers: { type: "string", default: "1" },
        mode: { type: "string" },
        trace: { type: "string" },
        report: { type: "string" },
      },
    });
    const { mode } = values;
    if (mode !== undefined && mode !== "safety" && mode !== "liveness")
      throw new UsageError("There is no such mode.");
    if (values.trace !== undefined) return trace(wholeNumber("trace", values.trace), mode);
    const from = wholeNumber("from", values.from);
    const began = performance.now();
    let told = 0;
    const { figures, failed } = await simulateInWorkers({
      from,
      seeds: values.seeds === undefined ? Infinity : wholeNumber("seeds", values.seeds),
      workers: wholeNumber("workers", values.workers),
      mode,
      onProgress({ seeds }) {
        if (seeds < told + everySeeds) return;
        told = seeds;
        const rate = (seeds / (performance.now() - began)) * 1_000;
        console.log(`${seeds} seeds, ${rate.toFixed(0)} a second`);
      },
    });
    if (failed !== null) console.log(failed.told);
    const seconds = (performance.now() - began) / 1_000;
    const rounded = Object.fromEntries(
      Object.entries({ ...figures, seconds }).map(([name, figure]) => [name, Math.round(figure)]),
    );
    for (const [name, figure] of Object.entries(rounded))
      console.log(`${name.padEnd(16)}${figure}`);
    console.log(
      failed === null ? "No promise was broken." : `Seed ${failed.seed} broke a promise.`,
    );
    if (values.report !== undefined) {
      const problems = failed === null ? [] : [`Seed ${failed.seed} broke a promise.`];
      updateReport(values.report, "sim", {
        command: ["npm run chaos -- sim", ...optionsOf(args)].join(" "),
        figures: { ...rounded, "promises broken": problems.length },
        problems,
      });
    }
    return failed === null ? 0 : 1;
  },
};

/** Without the report's own. */
function optionsOf(args: readonly string[]): readonly string[] {
  const report = args.indexOf("--report");
  return report === -1 ? args : args.toSpliced(report, 2);
}

/** One seed with its complete trace. */
async function trace(seed: number, mode: "safety" | "liveness" | undefined): Promise<number> {
  const result = await simulate(seed, {
    openStore: openReferenceStore,
    ...(mode && { profile: { mode } }),
  });
  console.log(result.trace().join("\n"));
  if (result.problems.length === 0) console.log("No promise was broken.");
  else console.log(describeFailure(result));
  return result.problems.length === 0 ? 0 : 1;
}
