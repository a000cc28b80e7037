import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { onTestFinished } from "vitest";

const repositoryRoot = fileURLToPath(new URL("../../../..", import.meta.url));

export interface StartOptions {
  readonly env?: Record<string, string | undefined>;
  readonly cwd?: string;
  /** What runs the script; by default the Node of this test run. */
  readonly command?: string;
  readonly uid?: number;
  /** No standard input by default. */
  readonly stdin?: "ignore" | "pipe";
  /** Registers the cleanup of a process that outlives a test; by default it ends with the test. */
  readonly onCleanup?: OnCleanup;
}

export type OnCleanup = (end: () => void | Promise<void>) => void;

export interface Exit {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

/**
 * Starts a real process in its own group, so that a kill reaches its children too. By default the group is gone when
 * the test ends, whatever the test does.
 */
export function startProcess(args: readonly string[], options: StartOptions = {}) {
  const child = spawn(options.command ?? process.execPath, args, {
    cwd: options.cwd ?? repositoryRoot,
    env: { ...process.env, ...options.env },
    stdio: "pipe",
    detached: true,
    ...(options.uid === undefined ? {} : { uid: options.uid }),
  });
  if (options.stdin !== "pipe") child.stdin.end();
  child.stdin.on("error", () => undefined);
  const lines: string[] = [];
  const waiting = new Set<() => void>();
  let stdout = "";
  let stderr = "";
  const wake = (): void => waiting.forEach((find) => find());
  createInterface(child.stdout).on("line", (line) => {
    lines.push(line);
    wake();
  });
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    stdout += text;
    wake();
  });
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    stderr += text;
    wake();
  });
  let exit: Exit | undefined;
  const exited = once(child, "close").then((): Exit => {
    exit = { code: child.exitCode, signal: child.signalCode };
    wake();
    return exit;
  });

  /** Signals the whole group; one that has already gone is no error. */
  function signalGroup(signal: NodeJS.Signals): void {
    try {
      if (child.pid !== undefined) process.kill(-child.pid, signal);
    } catch (error) {
      if (!(error instanceof Error && "code" in error && error.code === "ESRCH")) throw error;
    }
  }

  const { onCleanup: onTestEnd = onTestFinished } = options;
  onTestEnd(async () => {
    signalGroup("SIGKILL");
    await exited;
  });

  /** Resolves when `look` finds something in the output so far; rejects when the process ends without it. */
  function until<T>(find: () => T | undefined, wanted: string): Promise<T> {
    return new Promise((resolve, reject) => {
      const checkAgain = (): void => {
        const found = find();
        if (found === undefined && exit === undefined) return;
        waiting.delete(checkAgain);
        if (found !== undefined) return resolve(found);
        const output = [stdout, stderr].join("\n");
        reject(new Error(`ended (${JSON.stringify(exit)}) without ${wanted}:\n${output}`));
      };
      waiting.add(checkAgain);
      checkAgain();
    });
  }

  return {
    pid: child.pid,
    lines,
    stdout: () => stdout,
    stderr: () => stderr,
    exited,
    signal: signalGroup,
    /** `kill -9`, and waits until it is gone. */
    async kill(): Promise<Exit> {
      signalGroup("SIGKILL");
      return exited;
    },
    /** Types into standard input, if there is one. */
    type: (text: string): void => void child.stdin.write(text),
    endInput: (): void => void child.stdin.end(),
    /** Both outputs together, once they match. */
    saying: (matches: RegExp): Promise<string> =>
      until(() => (matches.test(stdout + stderr) ? stdout + stderr : undefined), String(matches)),
    /** The first matching line of standard output, past or future. */
    line: (matches: (line: string) => boolean): Promise<string> =>
      until(() => lines.find(matches), "the awaited line"),
  };
}

export type StartedProcess = ReturnType<typeof startProcess>;

/** The host built for the tests, or else its sources. */
export function hostScript(): string {
  const built = process.env["HOLDFAST_TEST_HOST"];
  return built === undefined
    ? "packages/host/src/main.ts"
    : fileURLToPath(new URL("main.js", built));
}

export function startHost(args: readonly string[], options: StartOptions = {}): StartedProcess {
  return startProcess([hostScript(), ...args], options);
}
