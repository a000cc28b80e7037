/** Something that can be put through chaos. `run` returns the exit code: 0 when every promise was kept. */
export interface Subject {
  readonly usage: string;
  run(args: readonly string[]): Promise<number>;
}

/** The command line can't be understood. */
export class UsageError extends Error {}

export function wholeNumber(name: string, value: string): number {
  const number = Number(value);
  if (!Number.isSafeInteger(number) || number < 1)
    throw new UsageError(`--${name} is a positive whole number.`);
  return number;
}
