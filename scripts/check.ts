import { spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { checkDependencies, type Violation } from "./dependency-rule.ts";
import { checkFolders } from "./folder-rule.ts";
import { checkPackages } from "./packages/check-packages.ts";

const root = fileURLToPath(new URL("..", import.meta.url));

export interface CheckResult {
  readonly ok: boolean;
  /** What a person needs to fix it. */
  readonly output: string;
  /** What was checked, for checks that could pass by checking nothing. */
  readonly seen?: string;
}

interface Check {
  readonly name: string;
  readonly run: () => Promise<CheckResult>;
}

const checks: readonly Check[] = [
  { name: "format", run: () => runTool("oxfmt", "--check") },
  { name: "lint", run: () => runTool("oxlint", "--deny-warnings") },
  { name: "types", run: () => runTool("tsc", "--pretty") },
  { name: "dependency rule", run: checkDependencyRule },
  { name: "folders", run: checkFolderRule },
  { name: "dead code", run: () => runTool("knip", "--no-config-hints") },
  { name: "packages", run: () => checkPackages(root, runCommand) },
];

const runTool = (tool: string, ...args: string[]): Promise<CheckResult> =>
  runCommand(`node_modules/.bin/${tool}`, ...args);

async function runCommand(command: string, ...args: string[]): Promise<CheckResult> {
  const child = spawn(command, args, { cwd: root, stdio: "pipe" });
  let output = "";
  const keep = (chunk: Buffer): void => void (output += chunk.toString());
  child.stdout.on("data", keep);
  child.stderr.on("data", keep);
  await once(child, "close");
  return { ok: child.exitCode === 0, output };
}

/** A check that suddenly sees fewer files than this has lost the repository. */
const minFiles = 1_000;

async function checkDependencyRule(): Promise<CheckResult> {
  const { files, references, violations } = checkDependencies(root);
  const isBlind = files < minFiles;
  return {
    ok: violations.length === 0 && !isBlind,
    output: isBlind ? `Only ${files} files were found.` : violations.map(describe).join("\n"),
    seen: `${files} files, ${references} references`,
  };
}

async function checkFolderRule(): Promise<CheckResult> {
  const violations = checkFolders(root);
  return { ok: violations.length === 0, output: violations.map(describe).join("\n") };
}

const describe = ({ file, line, rule, message }: Violation): string =>
  `${file}:${line}  ${rule}: ${message}`;

/** Runs every check, whatever the others find, and returns the names of those that failed. */
export async function runChecks(): Promise<string[]> {
  const failed: string[] = [];
  for (const { name, run } of checks) {
    const startedAt = performance.now();
    const { ok, output, seen = "" } = await run();
    const seconds = ((performance.now() - startedAt) / 1000).toFixed(1);
    console.log(`${ok ? "ok    " : "FAILED"}  ${name.padEnd(16)} ${seconds} s  ${seen}`.trimEnd());
    if (ok) continue;
    failed.push(name);
    console.log(output.trimEnd());
  }
  return failed;
}

if (import.meta.main) {
  const failed = await runChecks();
  process.exitCode = failed.length > 0 ? 1 : 0;
}
