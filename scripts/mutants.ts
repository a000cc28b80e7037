/**
 * Breaks a copy of the sources on purpose, one fault at a time, and shows which test notices. Fails when a
 * fault goes unnoticed: then the tests promise more than they hold.
 */
import { parseArgs } from "node:util";

import { startPostgres } from "../test/support/postgres-global.ts";
import { agentMutants } from "./mutants/agents.ts";
import { compactionMutants } from "./mutants/compaction.ts";
import { lockMutants } from "./mutants/compaction-lock.ts";
import { costMutants } from "./mutants/flat-cost.ts";
import { memoryMutants } from "./mutants/memory.ts";
import { lastingMutants } from "./mutants/memory-lasts.ts";
import type { Mutant } from "./mutants/mutant.ts";
import { protocolMutants } from "./mutants/protocol.ts";
import { record, type Verdict } from "./mutants/record.ts";
import { StaleFault, WeakenedTree } from "./mutants/weakened-tree.ts";

const all: readonly Mutant[] = [
  ...protocolMutants,
  ...lockMutants,
  ...compactionMutants,
  ...agentMutants,
  ...memoryMutants,
  ...lastingMutants,
  ...costMutants,
];

const usage = `npm run mutants [-- --only S0,S1.3,protocol] [--record FILE]

  --only    faults of these contracts or lines; protocol: those of the protocol's property tests
  --record  writes down in a document (docs/hole-tests.md) which test noticed what`;

function isChosen({ line = "protocol" }: Mutant, only: readonly string[] | undefined): boolean {
  return only === undefined || only.includes(line) || only.includes(line.split(".")[0] ?? line);
}

async function tryMutant(tree: WeakenedTree, mutant: Mutant): Promise<Verdict> {
  const { line, also = [], tests } = mutant;
  try {
    const { ran, failing } = await tree.tryWith([mutant, ...also], [tests], line);
    return { mutant, noticed: failing, ran };
  } catch (error) {
    if (!(error instanceof StaleFault)) throw error;
    console.error(error.message);
    return { mutant, noticed: [], ran: 0 };
  }
}

function told({ mutant: { line = "", fault }, noticed, ran }: Verdict): string {
  const by = new Set(noticed.map(({ title }) => title));
  const what = `${line.padEnd(6)} ${fault}`;
  if (ran === 0) return `NOT RUN   ${what}\n            the fault must be one that loads`;
  if (by.size === 0) return `SURVIVED  ${what}\n            none of ${ran} tests noticed`;
  return `noticed   ${what}\n            ${[...by].join("\n            ")} (${noticed.length} of ${ran})`;
}

async function main(args: readonly string[]): Promise<number> {
  const { values } = parseArgs({
    args: [...args],
    options: { only: { type: "string" }, record: { type: "string" }, help: { type: "boolean" } },
  });
  if (values.help === true) {
    console.log(usage);
    return 0;
  }
  const chosen = all.filter((mutant) => isChosen(mutant, values.only?.split(",")));
  await using stack = new AsyncDisposableStack();
  const tree = stack.use(await WeakenedTree.make());
  if (process.env["HOLDFAST_TEST_POSTGRES"] === undefined) {
    const server = await startPostgres();
    stack.defer(server.stop);
    process.env["HOLDFAST_TEST_POSTGRES"] = server.url;
  }
  const sound = await tree.test([...new Set(chosen.map(({ tests }) => tests))]);
  if (sound.ran === 0 || sound.failing.length > 0) {
    const names = sound.failing.map(({ fullName }) => fullName).join("; ");
    console.error(`The copy fails before anything is broken: ${names}`);
    return 1;
  }
  const verdicts: Verdict[] = [];
  for (const mutant of chosen) {
    const verdict = await tryMutant(tree, mutant);
    verdicts.push(verdict);
    console.log(told(verdict));
  }
  if (values.record !== undefined) record(values.record, verdicts, all);
  const survivors = verdicts.filter(({ noticed }) => noticed.length === 0).length;
  console.log(`\n${verdicts.length - survivors} of ${verdicts.length} faults noticed`);
  return survivors === 0 ? 0 : 1;
}

process.exitCode = await main(process.argv.slice(2));
