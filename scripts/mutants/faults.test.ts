import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { basename, join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, test } from "vitest";

import { createFolder } from "@holdfast/testing/process/folder";
import { walkSources } from "../list-sources.ts";
import { allMutants } from "./faults/index.ts";
import { findTest } from "./find-test.ts";
import type { Mutant } from "./mutant.ts";
import { plant } from "./plant.ts";
import { Sources } from "./sources.ts";
import { parse, walk } from "./syntax.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));
const sources = Sources.of(root);

interface Tried {
  readonly mutant: Mutant;
  readonly broken: ReadonlyMap<string, string>;
  readonly problem?: string;
}

const tried: readonly Tried[] = allMutants.map((mutant) => {
  try {
    return { mutant, broken: plant(sources, mutant) };
  } catch (error) {
    const problem = error instanceof Error ? error.message : String(error);
    return { mutant, broken: new Map(), problem };
  }
});

const nameOf = ({ line = "protocol", fault }: Mutant): string => `${line} ${fault}`;

test("every planted fault matches the current sources, changes them and leaves them parseable", () => {
  const stale = tried.flatMap(({ mutant, problem }) =>
    problem === undefined ? [] : `${nameOf(mutant)}: ${problem}`,
  );
  expect(stale).toEqual([]);
});

test("every planted fault has a test file, and its contract line a test", () => {
  const files = walkSources(root);
  const texts = new Map(files.map((file) => [file, readFileSync(join(root, file), "utf8")]));
  // Some test files run cases that are declared in another file.
  const cases = files.filter((file) => !/(?<!\.suite)\.test\.tsx?$/.test(file));
  const unnamed = allMutants.filter(({ line, tests }) => {
    const file = findTest(files, tests);
    return line && ![file, ...cases].some((source) => texts.get(source)?.includes(`[${line}]`));
  });
  expect(unnamed.map(nameOf)).toEqual([]);
});

test("planted faults use only names that exist", async () => {
  const code = tried.flatMap(({ mutant, broken }, index) =>
    [...broken]
      .filter(([file]) => !file.endsWith(".sql"))
      .map(([file, text]) => ({ mutant, index, file, text })),
  );
  const strange = code.flatMap(({ mutant, file, text }) => {
    const before = propertiesIn(file, sources.text(file));
    return [...propertiesIn(file, text)]
      .filter((name) => !before.has(name) && !sources.mentions(name))
      .map((name) => `${nameOf(mutant)}: no source file contains ${name}`);
  });
  const folder = createFolder(
    Object.fromEntries(code.map(({ index, file, text }) => [`${index}/${basename(file)}`, text])),
  );
  const { files, undefinedNames } = await lint(folder);
  expect(files).toBe(code.length);
  expect([...strange, ...undefinedNames]).toEqual([]);
});

function propertiesIn(file: string, text: string): ReadonlySet<string> {
  const parsed = parse(file, text);
  if (!parsed.ok) throw new Error(parsed.problem);
  const names = [...walk(parsed.program)].flatMap(({ node, parent }) => {
    const isProperty = parent?.type === "MemberExpression" && parent["property"] === node;
    const name = isProperty && parent["computed"] !== true ? node["name"] : undefined;
    return typeof name === "string" ? [name] : [];
  });
  return new Set(names);
}

interface LintReport {
  readonly number_of_files: number;
  readonly diagnostics: readonly { readonly message: string; readonly filename: string }[];
}

/** Finds undefined names with the linter, which resolves scopes. */
async function lint(folder: string): Promise<{ files: number; undefinedNames: string[] }> {
  const config = { env: { node: true, builtin: true }, rules: { "no-undef": "error" } };
  const place = createFolder({ "lint.json": JSON.stringify(config) });
  const args = ["--config", join(place, "lint.json"), "--quiet", "--format", "json", folder];
  const { stdout } = await promisify(execFile)(join(root, "node_modules/.bin/oxlint"), args).catch(
    (error: unknown) => error as { stdout: string },
  );
  const { diagnostics, number_of_files: files } = JSON.parse(stdout) as LintReport;
  const undefinedNames = diagnostics.map(({ filename, message }) => {
    const index = Number(filename.replaceAll("\\", "/").split("/").at(-2));
    const mutant = allMutants[index];
    return `${mutant === undefined ? filename : nameOf(mutant)}: ${message}`;
  });
  return { files, undefinedNames };
}
