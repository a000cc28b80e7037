import { createExcerpt } from "../util/excerpt.ts";
import { launchCommand } from "./launch.ts";
import { type NetworkGrant, type OpenNetwork, openNetwork } from "./network/open-network.ts";
import type { ReachedHost } from "./network/proxy.ts";
import type { PlainCommand } from "./sandbox.ts";
import { systemCode } from "../util/outcome.ts";

export interface Command extends PlainCommand {
  /** The hosts it was granted, if it is confined. */
  readonly network?: NetworkGrant | null;
  readonly timeLimitMs: number;
  /** How long a process may take to end after SIGTERM before it is killed. */
  readonly graceMs?: number;
  /** How much of the output to keep, in characters: its beginning and its end. */
  readonly keep?: number;
  readonly signal: AbortSignal;
  /** Called with the leader of the process group once it exists. */
  readonly onStart?: (pid: number) => void;
  /** Standard output and standard error as they come. */
  readonly onOutput?: (text: string) => void;
}

export type CommandEnd = { readonly output: string; readonly reached?: readonly ReachedHost[] } & (
  | { readonly kind: "exited"; readonly code: number }
  | { readonly kind: "killed"; readonly signal: NodeJS.Signals }
  /** Stopped by us. */
  | { readonly kind: "stopped"; readonly why: "cancelled" | "time" }
  | { readonly kind: "not_started"; readonly code: string }
);

const defaultGraceMs = 2_000;
const defaultKeep = 10 * 1024 * 1024;
/** How long a process outside the group may hold the output open after the command has exited. */
const lingerMs = 500;

/**
 * Runs a program in a process group of its own. When it ends or is stopped, the whole group ends with it: SIGTERM,
 * then SIGKILL after the grace period. Always resolves, with the output so far.
 */
export async function runCommand(command: Command): Promise<CommandEnd> {
  if (command.network == null) return runAlone(command);
  let network: OpenNetwork;
  try {
    network = await openNetwork(command.network);
  } catch (error) {
    return { kind: "not_started", code: systemCode(error), output: "" };
  }
  try {
    const end = await runAlone(command);
    return { ...end, reached: network.reached() };
  } finally {
    await network.close();
  }
}

function runAlone(command: Command): Promise<CommandEnd> {
  const { timeLimitMs, signal, onOutput } = command;
  const { graceMs = defaultGraceMs, keep = defaultKeep } = command;
  const excerpt = createExcerpt(keep);
  if (signal.aborted) return Promise.resolve({ kind: "stopped", why: "cancelled", output: "" });
  const child = launchCommand(command);

  function readStream(stream: NodeJS.ReadableStream): void {
    // A streaming decoder: invalid bytes become replacement characters, but one split across two reads stays
    // whole.
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
    const after = (ms: number, action: () => void) => void timers.add(setTimeout(action, ms));
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
    // A command that could not be started may have no streams, for example when file handles run out.
    if (child.pid === undefined) return;
    command.onStart?.(child.pid);
    readStream(child.stdout);
    readStream(child.stderr);
    child.once("exit", () => {
      // Whatever it started in its group ends too, and releases the output.
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

/** The variables that a command may see. Everything else, including secrets, is withheld. */
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
