import type { Writable } from "node:stream";
import { systemCode } from "../util/outcome.ts";

/** The part of `process` that receives Ctrl-C. */
export interface InterruptSource {
  on(signal: "SIGINT", listener: () => void): unknown;
  off(signal: "SIGINT", listener: () => void): unknown;
}

/**
 * npm forwards the Ctrl-C that the terminal already sent to the whole group, so one press may arrive twice. Only a
 * signal after this time is a second press.
 */
export const duplicateInterruptMs = 250;

/** Calls `first` on the first Ctrl-C and `second` on later ones. */
export function onInterrupts(
  process: InterruptSource,
  handlers: { readonly first: () => void; readonly second: () => void },
  now: () => number = () => performance.now(),
): { readonly stop: () => void } {
  let firstAt: number | undefined;
  function onSignal(): void {
    if (firstAt === undefined) {
      firstAt = now();
      handlers.first();
    } else if (now() - firstAt > duplicateInterruptMs) handlers.second();
  }
  process.on("SIGINT", onSignal);
  return { stop: () => void process.off("SIGINT", onSignal) };
}

/** The part of `process` that receives stop signals and can exit. */
export interface StopTarget {
  on(signal: StopSignal, listener: () => void): unknown;
  exit(code: number): void;
}

type StopSignal = (typeof signals)[number];

const signals = ["SIGINT", "SIGTERM", "SIGHUP"] as const;
const interruptedExitCode = 130;

/**
 * Resolves when the process is asked to stop. The first signal asks for an orderly end; a second one exits at
 * once. The listeners stay, because a duplicate may arrive after everything was closed.
 */
export function waitForStopSignal(
  stoppable: StopTarget,
  now: () => number = () => performance.now(),
): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  let firstAt: number | undefined;

  function onSignal(): void {
    firstAt ??= now();
    if (now() - firstAt > duplicateInterruptMs) stoppable.exit(interruptedExitCode);
    resolve();
  }

  for (const signal of signals) stoppable.on(signal, onSignal);
  return promise;
}

/** A shell's exit code for a program killed by SIGPIPE. */
const brokenPipeExitCode = 128 + 13;

/** `holdfast sessions list | head` closes the pipe early: that is not an error. */
export function exitOnBrokenPipe(
  { stdout, stderr }: { readonly stdout: Writable; readonly stderr: Writable },
  exitProcess: (code: number) => void,
): void {
  stdout.on("error", (error) => {
    if (systemCode(error) !== "EPIPE") throw error;
    exitProcess(brokenPipeExitCode);
  });
  // Nobody reads the errors, but the work should still be done.
  stderr.on("error", (error) => {
    if (systemCode(error) !== "EPIPE") throw error;
  });
}
