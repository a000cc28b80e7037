/** What a command has around it. */
export interface Terminal {
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly personFolder: string;
  say(line: string): void;
  complain(line: string): void;
}

export interface Command {
  /** Answers the exit code. */
  run(args: readonly string[], terminal: Terminal): Promise<number>;
}

/** The person typed something that cannot be meant; the sentence says what. */
export const misuse = 2;
