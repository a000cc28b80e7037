import { parseArgs } from "node:util";

import { updateReport } from "../report.ts";
import { runStoreChaos } from "./run.ts";
import { type Subject, UsageError, wholeNumber } from "../subject.ts";

/** Three processes that write to one store, and are killed. */
export const storeSubject: Subject = {
  usage: "store [--backend sqlite|postgres] [--kills 200] [--seed N] [--report docs/chaos.md]",
  async run(args) {
    const { values } = parseArgs({
      args: [...args],
      options: {
        backend: { type: "string", default: "sqlite" },
        kills: { type: "string", default: "200" },
        seed: { type: "string", default: String(1 + Math.floor(Math.random() * 1e9)) },
        report: { type: "string" },
      },
    });
    const { backend, report } = values;
    if (backend !== "sqlite" && backend !== "postgres")
      throw new UsageError("There is no such backend.");
    const result = await runStoreChaos({
      backend,
      kills: wholeNumber("kills", values.kills),
      seed: wholeNumber("seed", values.seed),
      print: (line) => console.log(line),
    });
    for (const [name, figure] of Object.entries(result.figures))
      console.log(`${name.padEnd(46)}${figure}`);
    for (const problem of result.problems) console.log(`WRONG  ${problem}`);
    const found = result.problems.length;
    console.log(found === 0 ? "Nothing was lost." : `${found} problems.`);
    if (report !== undefined) updateReport(report, `store-${backend}`, result);
    return found === 0 ? 0 : 1;
  },
};
