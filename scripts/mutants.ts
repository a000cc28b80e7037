/**
 * Breaks a copy of the sources on purpose, one fault at a time, and shows which test notices. Fails when a
 * planted fault goes unnoticed: then the tests promise more than they hold.
 */
import { parseArgs } from "node:util";

import { tryPlanted } from "./mutants/planted.ts";

const usage = `npm run mutants [-- --only S0,S1.3,protocol] [--record FILE]

  --only    faults of these contracts or lines; protocol: those of the protocol's property tests
  --record  writes down in a document (docs/hole-tests.md) which test noticed what`;

async function main(args: readonly string[]): Promise<number> {
  const { values } = parseArgs({
    args: [...args],
    options: { only: { type: "string" }, record: { type: "string" }, help: { type: "boolean" } },
  });
  if (values.help === true) {
    console.log(usage);
    return 0;
  }
  const { only, record } = values;
  const survivors = await tryPlanted({ only: only?.split(","), record });
  return survivors === 0 ? 0 : 1;
}

process.exitCode = await main(process.argv.slice(2));
