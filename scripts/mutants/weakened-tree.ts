import { execFileSync, spawn } from "node:child_process";
import {
  cp,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  realpath,
  rm,
  symlink,
  writeFile,
} from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";

import type { Edit } from "./mutant.ts";

const root = path.resolve(import.meta.dirname, "../..");
const timeoutMs = 300_000;

export interface TestRun {
  readonly ran: number;
  readonly failing: readonly FailedTest[];
}

export interface FailedTest {
  readonly title: string;
  /** With the groups that it stands in. */
  readonly fullName: string;
}

/** The sources have changed since it was thought up. */
export class StaleFault extends Error {}

interface VitestReport {
  readonly testResults: readonly {
    readonly assertionResults: readonly (FailedTest & { readonly status: string })[];
  }[];
}

/** A copy of the sources: faults live and die there, and the working tree is never touched. */
export class WeakenedTree implements AsyncDisposable {
  readonly #folder: string;

  private constructor(folder: string) {
    this.#folder = folder;
  }

  static async make(): Promise<WeakenedTree> {
    const folder = await realpath(await mkdtemp(path.join(tmpdir(), "holdfast-mutants-")));
    const listed = execFileSync("git", ["ls-files", "-co", "--exclude-standard"], { cwd: root });
    for (const file of listed.toString().split("\n").filter(Boolean))
      await cp(path.join(root, file), path.join(folder, file)).catch(unlessDeleted);
    await linkModules(folder);
    return new WeakenedTree(folder);
  }

  /** Puts the fault in, runs the tests and takes it out again. */
  async tryWith(edits: readonly Edit[], tests: readonly string[], line?: string): Promise<TestRun> {
    const originals = new Map<string, string>();
    try {
      for (const edit of edits) await this.#weaken(edit, originals);
      return await this.test(tests, line);
    } finally {
      for (const [file, text] of originals) await writeFile(file, text);
    }
  }

  /** With a line, only the tests that name it. */
  async test(files: readonly string[], line?: string): Promise<TestRun> {
    const output = path.join(this.#folder, "report.json");
    await rm(output, { force: true });
    const vitest = path.join(root, "node_modules/vitest/vitest.mjs");
    const flags = ["--reporter=json", `--outputFile=${output}`, ...named(line)];
    const args = [vitest, "run", "--root", this.#folder, ...flags, ...files];
    const child = spawn(process.execPath, args, {
      cwd: this.#folder,
      stdio: "ignore",
      timeout: timeoutMs,
      env: { ...process.env, NODE_COMPILE_CACHE: path.join(this.#folder, "compiled") },
    });
    const ended = await new Promise<string>((resolve, reject) => {
      child.once("error", reject);
      child.once("exit", (code, signal) => resolve(signal ?? String(code)));
    });
    const text = await readFile(output, "utf8").catch(() => null);
    if (text === null) throw new Error(`${files.join(", ")} gave no report (${ended}).`);
    const { testResults } = JSON.parse(text) as VitestReport;
    const results = testResults.flatMap((each) => each.assertionResults);
    const ran = results.filter(({ status }) => status === "passed" || status === "failed");
    return { ran: ran.length, failing: ran.filter(({ status }) => status === "failed") };
  }

  async #weaken({ file, from, to }: Edit, originals: Map<string, string>): Promise<void> {
    const place = path.join(this.#folder, file);
    const text = await readFile(place, "utf8");
    const places = text.split(from).length - 1;
    if (places !== 1)
      throw new StaleFault(`The text to replace stands ${places} times in ${file}.`);
    if (!originals.has(place)) originals.set(place, text);
    await writeFile(
      place,
      text.replace(from, () => to),
    );
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await rm(this.#folder, { recursive: true, force: true });
  }
}

function named(line: string | undefined): readonly string[] {
  return line === undefined ? [] : ["-t", `\\[${line.replace(".", "\\.")}\\]`];
}

function unlessDeleted(error: unknown): void {
  if (!(error instanceof Error && "code" in error && error.code === "ENOENT")) throw error;
}

/** Everything is the tree's own, but for the workspaces: these are the copy's. */
async function linkModules(folder: string): Promise<void> {
  const [from, to] = [path.join(root, "node_modules"), path.join(folder, "node_modules")];
  await mkdir(path.join(to, "@holdfast"), { recursive: true });
  for (const name of await readdir(from))
    if (name !== "@holdfast" && name !== ".cache" && name !== ".vite")
      await symlink(path.join(from, name), path.join(to, name));
  for (const name of await readdir(path.join(from, "@holdfast")))
    await symlink(path.join(folder, "packages", name), path.join(to, "@holdfast", name));
  for (const name of await readdir(path.join(folder, "packages"))) {
    const own = path.join("packages", name, "node_modules");
    await symlink(path.join(root, own), path.join(folder, own));
  }
}
