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

const root = path.resolve(import.meta.dirname, "../..");
const timeoutMs = 300_000;

export interface TestRun {
  readonly ran: number;
  readonly failing: readonly FailedTest[];
}

export interface FailedTest {
  readonly title: string;
  /** Including the names of its `describe` blocks. */
  readonly fullName: string;
}

/** Tests that hang fail too. */
const endless: FailedTest = { title: "(did not end)", fullName: "(did not end)" };

interface VitestReport {
  readonly testResults: readonly {
    readonly assertionResults: readonly (FailedTest & { readonly status: string })[];
  }[];
}

/** A copy of the working tree to break, so that the working tree itself is never touched. */
export class SourceCopy implements AsyncDisposable {
  readonly folder: string;

  private constructor(folder: string) {
    this.folder = folder;
  }

  static async make(): Promise<SourceCopy> {
    const folder = await realpath(await mkdtemp(path.join(tmpdir(), "holdfast-mutants-")));
    const listed = execFileSync("git", ["ls-files", "-co", "--exclude-standard"], { cwd: root });
    for (const file of listed.toString().split("\n").filter(Boolean))
      await cp(path.join(root, file), path.join(folder, file)).catch(unlessDeleted);
    await linkModules(folder);
    return new SourceCopy(folder);
  }

  /** Runs the tests with some files replaced, then restores them. */
  async tryWith(
    broken: ReadonlyMap<string, string>,
    tests: readonly string[],
    line?: string,
  ): Promise<TestRun> {
    const sound = new Map<string, string>();
    try {
      for (const [file, text] of broken) {
        const place = path.join(this.folder, file);
        sound.set(place, await readFile(place, "utf8"));
        await writeFile(place, text);
      }
      return await this.test(tests, line);
    } finally {
      for (const [place, text] of sound) await writeFile(place, text);
    }
  }

  /** With a line, only the tests that have it in their title. */
  async test(files: readonly string[], line?: string): Promise<TestRun> {
    const output = path.join(this.folder, "report.json");
    await rm(output, { force: true });
    const vitest = path.join(root, "node_modules/vitest/vitest.mjs");
    const flags = ["--reporter=json", `--outputFile=${output}`, ...named(line)];
    const args = [vitest, "run", "--root", this.folder, ...flags, ...files];
    const child = spawn(process.execPath, args, {
      cwd: this.folder,
      stdio: "ignore",
      timeout: timeoutMs,
      env: { ...process.env, NODE_COMPILE_CACHE: path.join(this.folder, "compiled") },
    });
    const ended = await new Promise<string>((resolve, reject) => {
      child.once("error", reject);
      child.once("exit", (code, signal) => resolve(signal ?? String(code)));
    });
    const text = await readFile(output, "utf8").catch(() => null);
    if (text === null && child.killed) return { ran: 1, failing: [endless] };
    if (text === null) throw new Error(`${files.join(", ")} gave no report (${ended}).`);
    const { testResults } = JSON.parse(text) as VitestReport;
    const results = testResults.flatMap((file) => file.assertionResults);
    const ran = results.filter(({ status }) => status === "passed" || status === "failed");
    return { ran: ran.length, failing: ran.filter(({ status }) => status === "failed") };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await rm(this.folder, { recursive: true, force: true });
  }
}

function named(line: string | undefined): readonly string[] {
  return line === undefined ? [] : ["-t", `\\[${line.replace(".", "\\.")}\\]`];
}

function unlessDeleted(error: unknown): void {
  if (!(error instanceof Error && "code" in error && error.code === "ENOENT")) throw error;
}

/** Links all modules of the working tree, except the workspaces: those are the copy's own. */
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
