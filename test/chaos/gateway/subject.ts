import { parseArgs } from "node:util";

import { runGatewayChaos } from "./run.ts";
import { updateReport } from "../report.ts";
import { type Subject, wholeNumber } from "../subject.ts";

/** A host with a bot, a fake platform, and a nemesis that kills the host. */
export const gatewaySubject: Subject = {
  usage: "gateway [--kills 200] [--seed N] [--report docs/chaos.md]",
  async run(args) {
    const { values } = parseArgs({
      args: [...args],
      options: {
        kills: { type: "string", default: "200" },
        seed: { type: "string", default: String(1 + Math.floor(Math.random() * 1e9)) },
        report: { type: "string" },
      },
    });
    const result = await runGatewayChaos({
      kills: wholeNumber("kills", values.kills),
      seed: wholeNumber("seed", values.seed),
      print: (line) => console.log(line),
    });
    for (const [name, figure] of Object.entries(result.figures))
      console.log(`${name.padEnd(54)}${figure}`);
    for (const problem of result.problems) console.log(`WRONG  ${problem}`);
    const found = result.problems.length;
    console.log(found === 0 ? "Every promise was kept." : "A promise was broken.");
    if (values.report !== undefined) updateReport(values.report, "gateway", result);
    return found === 0 ? 0 : 1;
  },
};
