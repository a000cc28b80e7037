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
