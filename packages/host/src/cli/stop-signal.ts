export interface StopRequest {
  /** Resolves when somebody asks the process to stop. */
  readonly asked: Promise<void>;
  ignore(): void;
}

/** The part of a process that is asked to stop, and can. */
export interface Stoppable {
  on(signal: StopSignal, listener: () => void): unknown;
  off(signal: StopSignal, listener: () => void): unknown;
  exit(code: number): void;
}

type StopSignal = (typeof signals)[number];

const signals = ["SIGINT", "SIGTERM", "SIGHUP"] as const;
const interruptedExitCode = 130;

/**
 * npm passes on the Ctrl-C that the terminal has already sent to every process of the group, so one
 * press arrives twice. Only what comes after this is a second press.
 */
const samePressMs = 250;

/** The first request is for an orderly end; a second one does not wait for it. */
export function stopRequested(
  stoppable: Stoppable,
  now: () => number = () => performance.now(),
): StopRequest {
  const { promise: asked, resolve } = Promise.withResolvers<void>();
  let firstAt: number | undefined;

  function onSignal(): void {
    firstAt ??= now();
    if (now() - firstAt > samePressMs) stoppable.exit(interruptedExitCode);
    resolve();
  }

  for (const signal of signals) stoppable.on(signal, onSignal);
  return {
    asked,
    ignore() {
      for (const signal of signals) stoppable.off(signal, onSignal);
    },
  };
}
