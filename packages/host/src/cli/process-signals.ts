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
