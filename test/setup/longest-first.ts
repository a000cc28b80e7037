import { readFile, stat } from "node:fs/promises";
import { basename, dirname, join } from "node:path";

import { BaseSequencer, type TestSpecification } from "vitest/node";

/** Tests that start processes and wait for them come first, and quick ones last, so that no core idles. */
const projects = ["e2e", "postgres", "unit"];

/** Short files that run long. The longest of all, whatever their size. */
const longestFiles = [
  "store.test.ts",
  "processes.test.ts",
  "gateway.test.ts",
  "processes.pg.test.ts",
];

export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const weighed = await Promise.all(
      files.map(async (file) => ({ file, weight: await weightOf(file.moduleId) })),
    );
    const position = ({ file }: { file: TestSpecification }) => projects.indexOf(file.project.name);
    return weighed
      .toSorted((a, b) => position(a) - position(b) || b.weight - a.weight)
      .map(({ file }) => file);
  }
}

async function weightOf(moduleId: string): Promise<number> {
  if (moduleId.includes("/test/chaos/") && longestFiles.includes(basename(moduleId)))
    return Number.MAX_SAFE_INTEGER;
  if (moduleId.includes("/engine/contracts/")) return weightOfSuites(moduleId);
  return (await stat(moduleId)).size;
}

/** A runner of contract suites has few lines, but takes as long as the suites that it imports. */
async function weightOfSuites(runner: string): Promise<number> {
  const imports = (await readFile(runner, "utf8")).matchAll(/ from "(\.\/[^"]+)"/g);
  const suites = [...imports].map(([, path = ""]) => join(dirname(runner), path));
  const sizes = await Promise.all(suites.map(async (suite) => (await stat(suite)).size));
  return sizes.reduce((sum, size) => sum + size, 0);
}
