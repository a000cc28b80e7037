// npm run soak [-- --minutes 60] [--rounds 30] [--seed N] [--report docs/chaos.md]
import { parseArgs } from "node:util";

import { updateReport } from "../chaos/report.ts";
import { wholeNumber } from "../chaos/subject.ts";
import { runSoak } from "./run.ts";

const { values } = parseArgs({
  options: {
    minutes: { type: "string", default: "60" },
    rounds: { type: "string", default: "30" },
    seed: { type: "string", default: String(1 + Math.floor(Math.random() * 1e9)) },
    report: { type: "string" },
  },
});
const minutes = wholeNumber("minutes", values.minutes);
const { rows, counts, kills, problems } = await runSoak({
  seconds: minutes * 60,
  rounds: wholeNumber("rounds", values.rounds),
  seed: wholeNumber("seed", values.seed),
  print: (line) => console.log(line),
});
console.log(`\n| at rest | first third | last third | limit |\n|---|---|---|---|`);
for (const { name, first, last, allowed } of rows)
  console.log(`| ${name} | ${first.toFixed(1)} | ${last.toFixed(1)} | ${allowed.toFixed(1)} |`);
console.log(`\n${minutes} minutes, ${kills} kills, ${JSON.stringify(counts)}, seed ${values.seed}`);
for (const problem of problems) console.log(`WRONG  ${problem}`);
console.log(problems.length === 0 ? "Everything stayed flat." : `${problems.length} problems.`);
if (values.report !== undefined) {
  const { rounds, seed } = values;
  const grown = rows.map(({ name, first, last, allowed }): [string, string] => [
    `${name}: first third, last third, limit`,
    [first, last, allowed].map((figure) => figure.toFixed(1)).join(", "),
  ]);
  updateReport(values.report, "soak", {
    command: `npm run soak -- --minutes ${minutes} --rounds ${rounds} --seed ${seed}`,
    figures: { "kill -9": kills, ...counts, ...Object.fromEntries(grown) },
    problems,
  });
}
process.exitCode = problems.length === 0 ? 0 : 1;
