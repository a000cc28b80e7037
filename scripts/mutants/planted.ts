import { startPostgres } from "@holdfast/testing/postgres/start-postgres";
import { walkSources } from "../list-sources.ts";
import { allMutants } from "./faults/index.ts";
import { findTest } from "./find-test.ts";
import type { Mutant } from "./mutant.ts";
import { plant, StaleFault } from "./plant.ts";
import { record, type Verdict } from "./record.ts";
import { Sources } from "./sources.ts";
import { SourceCopy } from "./source-copy.ts";

export interface PlantedOptions {
  /** Contracts or lines; all faults without it. */
  readonly only?: readonly string[] | undefined;
  /** The document whose table is updated. */
  readonly record?: string | undefined;
}

/** Plants one fault after another in a copy of the sources, and returns how many went unnoticed. */
export async function tryPlanted(options: PlantedOptions): Promise<number> {
  const chosen = allMutants.filter((mutant) => isChosen(mutant, options.only));
  await using stack = new AsyncDisposableStack();
  const copy = stack.use(await SourceCopy.make());
  if (process.env["HOLDFAST_TEST_POSTGRES"] === undefined) {
    const server = await startPostgres();
    stack.defer(server.stop);
    process.env["HOLDFAST_TEST_POSTGRES"] = server.url;
  }
  const files = walkSources(copy.folder);
  const sources = Sources.of(copy.folder);
  const tests = new Set(chosen.map((mutant) => findTest(files, mutant.tests)));
  const sound = await copy.test([...tests]);
  if (sound.ran === 0 || sound.failing.length > 0) {
    const names = sound.failing.map(({ fullName }) => fullName).join("; ");
    throw new Error(`The copy fails before anything is broken: ${names}`);
  }
  const verdicts: Verdict[] = [];
  for (const mutant of chosen) {
    const verdict = await tryMutant(copy, sources, files, mutant);
    verdicts.push(verdict);
    console.log(told(verdict));
  }
  if (options.record !== undefined) record(options.record, verdicts, allMutants);
  const survivors = verdicts.filter(({ noticed }) => noticed.length === 0).length;
  console.log(`\n${verdicts.length - survivors} of ${verdicts.length} faults noticed`);
  return survivors;
}

function isChosen({ line = "protocol" }: Mutant, only: readonly string[] | undefined): boolean {
  return only === undefined || only.includes(line) || only.includes(line.split(".")[0] ?? line);
}

async function tryMutant(
  copy: SourceCopy,
  sources: Sources,
  files: readonly string[],
  mutant: Mutant,
): Promise<Verdict> {
  try {
    const tests = [findTest(files, mutant.tests)];
    const { ran, failing } = await copy.tryWith(plant(sources, mutant), tests, mutant.line);
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
