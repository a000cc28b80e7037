import { spawn } from "node:child_process";
import { createExcerpt } from "./excerpt.ts";

export interface Command {
  /** The program and its arguments, as they are: no shell looks at them. */
  readonly argv: readonly [string, ...string[]];
  readonly folder: string;
  readonly environment: Readonly<Record<string, string>>;
  readonly timeLimitMs: number;
  /** How long a process that was told to end may take before it is killed. */
  readonly graceMs?: number;
  /** How much of the output is kept, in characters: its beginning and its end. */
  readonly keep?: number;
  readonly signal: AbortSignal;
  /** The leader of its process group, as soon as there is one. */
  readonly onStart?: (pid: number) => void;
  /** Standard output and standard error as they come. */
  readonly onOutput?: (text: string) => void;
}

export type CommandEnd = { readonly output: string } & (
  | { readonly kind: "exited"; readonly code: number }
  | { readonly kind: "killed"; readonly signal: NodeJS.Signals }
  /** By us. */
  | { readonly kind: "stopped"; readonly why: "cancelled" | "time" }
  | { readonly kind: "not_started"; readonly code: string }
);

const defaultGraceMs = 2_000;
const defaultKeep = 10 * 1024 * 1024;
/** How long a process outside of the group may hold the output open after the command is gone. */
const lingerMs = 500;

/**
 * Runs a program in a process group of its own. When it ends, or is told to, the whole group ends with it: SIGTERM, and
 * SIGKILL for what is still there after the grace. It always resolves, with what it has seen of the output.
 */
export function runCommand(command: Command): Promise<CommandEnd> {
  const { argv, folder, environment, timeLimitMs, signal, onOutput } = command;
  const { graceMs = defaultGraceMs, keep = defaultKeep } = command;
  const excerpt = createExcerpt(keep);
  if (signal.aborted) return Promise.resolve({ kind: "stopped", why: "cancelled", output: "" });
  const [program, ...args] = argv;
  const child = spawn(program, args, {
    cwd: folder,
    env: environment,
    stdio: ["ignore", "pipe", "pipe"],
    detached: true,
  });

  function take(stream: NodeJS.ReadableStream): void {
    // Bytes that are no text become replacement characters; one that is cut between two reads does not.
    const decoder = new TextDecoder();
    const add = (text: string): void => {
      if (text === "") return;
      excerpt.add(text);
      onOutput?.(text);
    };
    stream.on("data", (bytes: Buffer) => add(decoder.decode(bytes, { stream: true })));
    stream.on("end", () => add(decoder.decode()));
  }

  return new Promise((resolve) => {
    let stopped: "cancelled" | "time" | undefined;
    const timers = new Set<NodeJS.Timeout>();
    const after = (ms: number, act: () => void) => void timers.add(setTimeout(act, ms));
    const stop = (why: "cancelled" | "time"): void => {
      if (stopped !== undefined) return;
      stopped = why;
      signalGroup(child.pid, "SIGTERM");
      after(graceMs, () => signalGroup(child.pid, "SIGKILL"));
    };
    const cancel = (): void => stop("cancelled");
    signal.addEventListener("abort", cancel, { once: true });
    after(timeLimitMs, () => stop("time"));

    const finish = (end: CommandOutcome): void => {
      signal.removeEventListener("abort", cancel);
      for (const timer of timers) clearTimeout(timer);
      resolve({ ...end, output: excerpt.text() });
    };
    const endKind = (): CommandOutcome => {
      if (stopped !== undefined) return { kind: "stopped", why: stopped };
      if (child.signalCode !== null) return { kind: "killed", signal: child.signalCode };
      return { kind: "exited", code: child.exitCode ?? 0 };
    };
    child.once("error", (error: NodeJS.ErrnoException) =>
      finish({ kind: "not_started", code: error.code ?? "unknown" }),
    );
    // One that could not be started may have no output at all, as where this process has no more files to open.
    if (child.pid === undefined) return;
    command.onStart?.(child.pid);
    take(child.stdout);
    take(child.stderr);
    child.once("exit", () => {
      // What it started in its group goes with it, and lets go of the output.
      signalGroup(child.pid, "SIGKILL");
      after(lingerMs, () => {
        child.stdout.destroy();
        child.stderr.destroy();
      });
    });
    child.once("close", () => finish(endKind()));
  });
}

type CommandOutcome =
  | { kind: "exited"; code: number }
  | { kind: "killed"; signal: NodeJS.Signals }
  | { kind: "stopped"; why: "cancelled" | "time" }
  | { kind: "not_started"; code: string };

/** A group that is gone already is no error. */
function signalGroup(leader: number | undefined, signal: NodeJS.Signals): void {
  if (leader === undefined) return;
  try {
    process.kill(-leader, signal);
  } catch {
    // Nothing is left of it, or nothing that is ours.
  }
}

/** What a command may know of the host's environment. Everything else stays here, and the secrets with it. */
const allowedVariables: readonly RegExp[] = [
  /^(PATH|HOME|USER|LOGNAME|SHELL|TZ|TMPDIR|LANG|LANGUAGE)$/,
  /^LC_[A-Z]+$/,
];

export function allowedEnvironment(
  environment: Readonly<Record<string, string | undefined>>,
): Readonly<Record<string, string>> {
  const passed: Record<string, string> = {};
  for (const [name, value] of Object.entries(environment)) {
    if (value !== undefined && allowedVariables.some((pattern) => pattern.test(name)))
      passed[name] = value;
  }
  return { ...passed, TERM: "dumb" };
}
