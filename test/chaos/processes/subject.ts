import { parseArgs } from "node:util";

import { runProcessChaos } from "./run.ts";
import { updateReport } from "../report.ts";
import { type Subject, UsageError, wholeNumber } from "../subject.ts";

/** Runners and a host on one store, with clients that talk to them, and a nemesis that kills them. */
export const processesSubject: Subject = {
  usage:
    "processes [--backend sqlite|postgres] [--kills 200] [--seed N] [--report docs/chaos.md] [--keep-history]",
  async run(args) {
    const { values } = parseArgs({
      args: [...args],
      options: {
        backend: { type: "string", default: "sqlite" },
        kills: { type: "string", default: "200" },
        seed: { type: "string", default: String(1 + Math.floor(Math.random() * 1e9)) },
        report: { type: "string" },
        "keep-history": { type: "boolean" },
      },
    });
    const { backend, report } = values;
    if (backend !== "sqlite" && backend !== "postgres")
      throw new UsageError("There is no such backend.");
    const result = await runProcessChaos({
      backend,
      kills: wholeNumber("kills", values.kills),
      seed: wholeNumber("seed", values.seed),
      print: (line) => console.log(line),
      ...(values["keep-history"] === true && { keepHistory: true }),
    });
    for (const [name, figure] of Object.entries(result.figures))
      console.log(`${name.padEnd(54)}${figure}`);
    for (const problem of result.problems) console.log(`WRONG  ${problem}`);
    const found = result.problems.length;
    console.log(found === 0 ? "Every promise was kept." : "A promise was broken.");
    if (report !== undefined) updateReport(report, `processes-${backend}`, result);
    return found === 0 ? 0 : 1;
  },
};
