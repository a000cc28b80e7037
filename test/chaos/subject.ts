/** Something that can be put through chaos. `run` says how the process exits: 0 when every promise was kept. */
export interface Subject {
  readonly usage: string;
  run(args: readonly string[]): Promise<number>;
}

/** What a person typed cannot be understood. */
export class UsageError extends Error {}

export function wholeNumber(name: string, value: string): number {
  const number = Number(value);
  if (!Number.isSafeInteger(number) || number < 1)
    throw new UsageError(`--${name} is a positive whole number.`);
  return number;
}
