import type { Writable } from "node:stream";
import { systemCode } from "../util/outcome.ts";

/** The part of a process that hears Ctrl-C. */
export interface InterruptSource {
  on(signal: "SIGINT", listener: () => void): unknown;
  off(signal: "SIGINT", listener: () => void): unknown;
}

/** npm passes on what the terminal has sent already: one press may arrive twice. */
const duplicateInterruptMs = 250;

/** Once, and then once more: the first Ctrl-C and the next. */
export function onInterrupts(
  process: InterruptSource,
  acts: { readonly first: () => void; readonly second: () => void },
  now: () => number = () => performance.now(),
): { readonly stop: () => void } {
  let firstAt: number | undefined;
  function onSignal(): void {
    if (firstAt === undefined) {
      firstAt = now();
      acts.first();
    } else if (now() - firstAt > duplicateInterruptMs) acts.second();
  }
  process.on("SIGINT", onSignal);
  return { stop: () => void process.off("SIGINT", onSignal) };
}

/** The part of a process that is asked to stop, and can. */
export interface StopTarget {
  on(signal: StopSignal, listener: () => void): unknown;
  exit(code: number): void;
}

type StopSignal = (typeof signals)[number];

const signals = ["SIGINT", "SIGTERM", "SIGHUP"] as const;
const interruptedExitCode = 130;

/**
 * npm passes on the Ctrl-C that the terminal has already sent to every process of the group, so one
 * press arrives twice. Only what comes after this is a second press.
 */
const duplicateSignalMs = 250;

/**
 * Resolves when the process is asked to stop. The first request is for an orderly end; a second one
 * does not wait for it. The listeners stay, as an echo may arrive after everything has been closed.
 */
export function waitForStopSignal(
  stoppable: StopTarget,
  now: () => number = () => performance.now(),
): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  let firstAt: number | undefined;

  function onSignal(): void {
    firstAt ??= now();
    if (now() - firstAt > duplicateSignalMs) stoppable.exit(interruptedExitCode);
    resolve();
  }

  for (const signal of signals) stoppable.on(signal, onSignal);
  return promise;
}

/** What a shell says of a program that wrote to a pipe that nobody reads. */
const brokenPipeExitCode = 128 + 13;

/** `holdfast sessions list | head` has seen enough: that is no failure, and nothing to be told. */
export function exitOnBrokenPipe(
  { stdout, stderr }: { readonly stdout: Writable; readonly stderr: Writable },
  leave: (code: number) => void,
): void {
  stdout.on("error", (error) => {
    if (systemCode(error) !== "EPIPE") throw error;
    leave(brokenPipeExitCode);
  });
  // Whoever does not read complaints still wants the work done.
  stderr.on("error", (error) => {
    if (systemCode(error) !== "EPIPE") throw error;
  });
}
