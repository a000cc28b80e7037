import { parseArgs } from "node:util";

import { updateReport } from "../report.ts";
import { type Subject, UsageError, wholeNumber } from "../subject.ts";
import { runNodesChaos } from "./run.ts";

/** Three hosts on three machines behind a proxy, and a database that fails over. */
export const nodesSubject: Subject = {
  usage: "nodes [--minutes 10] [--seed N] [--report docs/chaos.md] [--keep-history]",
  async run(args) {
    const { values } = parseArgs({
      args: [...args],
      options: {
        minutes: { type: "string", default: "10" },
        seed: { type: "string", default: String(1 + Math.floor(Math.random() * 1e9)) },
        report: { type: "string" },
        "keep-history": { type: "boolean" },
      },
    });
    if (process.platform !== "linux") throw new UsageError("It needs the namespaces of Linux.");
    const result = await runNodesChaos({
      minutes: wholeNumber("minutes", values.minutes),
      seed: wholeNumber("seed", values.seed),
      print: (line) => console.log(line),
      isTimed: true,
      ...(values["keep-history"] === true && { keepHistory: true }),
    });
    for (const [name, figure] of Object.entries(result.figures))
      console.log(`${name.padEnd(62)}${figure}`);
    for (const problem of result.problems) console.log(`WRONG  ${problem}`);
    const found = result.problems.length;
    console.log(found === 0 ? "Every promise was kept." : "A promise was broken.");
    if (values.report !== undefined) updateReport(values.report, "nodes", result);
    return found === 0 ? 0 : 1;
  },
};
