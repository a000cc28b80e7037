import { mkdir } from "node:fs/promises";
import path from "node:path";

import { Stryker } from "@stryker-mutator/core";

import { codeOf, type Group, groups } from "./groups.ts";
import { SourceCopy } from "./source-copy.ts";

const root = path.resolve(import.meta.dirname, "../..");
const cache = path.join(root, "node_modules/.cache/holdfast/mutants");

type Mutants = Awaited<ReturnType<Stryker["runMutationTest"]>>;

/** Lets Stryker mutate each group in a copy of the sources, and prints the scores. */
export async function tryStryker(names: readonly string[]): Promise<void> {
  const chosen = names.map((name) => ({ name, group: groupCalled(name) }));
  const scores: string[] = [];
  await mkdir(cache, { recursive: true });
  await using copy = await SourceCopy.make();
  // Stryker works in the current folder, and warns that it changes files there.
  console.log(`Mutating a copy of the sources in ${copy.folder}`);
  process.chdir(copy.folder);
  try {
    for (const { name, group } of chosen) {
      const startedAt = performance.now();
      const mutants = await tryGroup(name, group);
      scores.push(scoreOf(name, mutants, performance.now() - startedAt));
    }
  } finally {
    process.chdir(root);
    console.log(`\n${scores.join("\n")}`);
  }
}

function groupCalled(name: string): Group {
  const group = groups[name];
  if (group === undefined)
    throw new Error(`There is no group ${name}: ${Object.keys(groups).join(", ")}.`);
  return group;
}

async function tryGroup(name: string, group: Group): Promise<Mutants> {
  process.env["HOLDFAST_MUTANTS_GROUP"] = name;
  const stryker = new Stryker({
    mutate: [...codeOf(group)],
    inPlace: true,
    testRunner: "vitest",
    plugins: ["@stryker-mutator/vitest-runner"],
    vitest: { configFile: "scripts/mutants/stryker.vitest.config.ts", related: false },
    // Stryker reads it with TypeScript's API, which version 7 does not have. It skips a file that does not exist.
    tsconfigFile: "none.json",
    coverageAnalysis: group.inThreads ? "off" : "perTest",
    concurrency: 2,
    // Generous, for a busy machine: a mutant that times out counts as noticed.
    timeoutMS: 15_000,
    incremental: true,
    incrementalFile: path.join(cache, `${name}.json`),
    reporters: ["progress-append-only", "html"],
    htmlReporter: { fileName: path.join(cache, `${name}.html`) },
  });
  return stryker.runMutationTest();
}

function scoreOf(name: string, mutants: Mutants, ms: number): string {
  const count = (status: Mutants[number]["status"]): number =>
    mutants.filter((mutant) => mutant.status === status).length;
  const noticed = count("Killed") + count("Timeout");
  const valid = noticed + count("Survived") + count("NoCoverage");
  const score = valid === 0 ? "none" : `${((100 * noticed) / valid).toFixed(1)} %`;
  const counts = `${noticed} of ${valid} noticed, ${count("NoCoverage")} not covered`;
  const report = path.relative(root, path.join(cache, `${name}.html`));
  return `${name.padEnd(10)} ${score}  ${counts}, ${(ms / 60_000).toFixed(1)} min: ${report}`;
}
