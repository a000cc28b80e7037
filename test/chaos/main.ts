// npm run chaos -- <subject> [--option value …]
import { parseArgs } from "node:util";

import { updateReport } from "./report.ts";
import { runStoreChaos } from "./store.ts";

const usage = `usage: npm run chaos -- store [--backend sqlite|postgres] [--kills 200] [--seed N] [--report docs/chaos.md]`;

function fail(message: string): never {
  console.error(`${message}\n${usage}`);
  process.exit(2);
}

function wholeNumber(name: string, value: string): number {
  const number = Number(value);
  if (!Number.isSafeInteger(number) || number < 1) fail(`--${name} is a positive whole number.`);
  return number;
}

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    backend: { type: "string", default: "sqlite" },
    kills: { type: "string", default: "200" },
    seed: { type: "string", default: String(1 + Math.floor(Math.random() * 1e9)) },
    report: { type: "string" },
  },
});
const { backend } = values;
if (positionals.join() !== "store") fail("There is no such subject.");
if (backend !== "sqlite" && backend !== "postgres") fail("There is no such backend.");

const result = await runStoreChaos({
  backend,
  kills: wholeNumber("kills", values.kills),
  seed: wholeNumber("seed", values.seed),
  say: (line) => console.log(line),
});
for (const [name, figure] of Object.entries(result.figures))
  console.log(`${name.padEnd(36)}${figure}`);
for (const problem of result.problems) console.log(`WRONG  ${problem}`);
console.log(
  result.problems.length === 0 ? "Nothing was lost." : `${result.problems.length} problems.`,
);
if (values.report !== undefined) updateReport(values.report, `store-${backend}`, result);
process.exitCode = result.problems.length === 0 ? 0 : 1;
