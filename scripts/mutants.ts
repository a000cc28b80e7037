/**
 * Breaks a copy of the sources, one fault at a time, and shows which test notices. Fails when a planted fault goes
 * unnoticed: then the tests promise more than they check.
 */
import { parseArgs } from "node:util";

import { groups } from "./mutants/groups.ts";
import { tryPlanted } from "./mutants/planted.ts";

const usage = `npm run mutants [-- --planted] [--only S0,S1.3,protocol] [--record FILE] [--stryker log,run]

  --planted  only the planted faults
  --only     only planted faults of these contracts or lines; protocol: those of the protocol's property tests
  --record   updates the list in a document (docs/hole-tests.md): which test noticed which planted fault
  --stryker  only Stryker, on these groups: ${Object.keys(groups).join(", ")}, or all`;

async function main(args: readonly string[]): Promise<number> {
  const { values } = parseArgs({
    args: [...args],
    options: {
      planted: { type: "boolean" },
      only: { type: "string" },
      record: { type: "string" },
      stryker: { type: "string" },
      help: { type: "boolean" },
    },
  });
  const { planted, only, record, stryker, help } = values;
  if (help === true) {
    console.log(usage);
    return 0;
  }
  const isPlantedAsked = planted === true || only !== undefined || record !== undefined;
  const survivors =
    stryker === undefined || isPlantedAsked
      ? await tryPlanted({ only: only?.split(","), record })
      : 0;
  if (stryker !== undefined || !isPlantedAsked) {
    const { tryStryker } = await import("./mutants/stryker.ts");
    const all = stryker === undefined || stryker === "all";
    await tryStryker(all ? Object.keys(groups) : stryker.split(","));
  }
  return survivors === 0 ? 0 : 1;
}

process.exitCode = await main(process.argv.slice(2));
