import type { Readable } from "node:stream";
import type { TerminalOutput } from "./screen/screen.ts";

/** What is typed or piped in. */
export type Input = Readable & {
  readonly isTTY?: boolean;
  setRawMode?(mode: boolean): unknown;
};

/** What a command has around it. */
export interface Terminal {
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly personFolder: string;
  readonly input: Input;
  readonly output: TerminalOutput;
  print(line: string): void;
  printError(line: string): void;
}

/** A flag that is a command's own. Each setting is a flag too, of every command. */
export interface CommandFlag {
  readonly type: "string" | "boolean";
  readonly about: string;
  /** What stands behind it, in the help: `--session <id>`. */
  readonly value?: string;
}

export interface Arguments {
  readonly words: readonly string[];
  readonly flags: Readonly<Record<string, unknown>>;
}

export interface Command {
  /** How it is typed, behind `holdfast`. */
  readonly usage: readonly string[];
  readonly about: string;
  readonly flags?: Readonly<Record<string, CommandFlag>>;
  /** What a person types, and what comes of it. */
  readonly examples: readonly (readonly [string, string])[];
  /** Which settings its help lists: those of a host, or those that lead to one. */
  readonly settings: "host" | "reach" | "none";
  /** Answers the exit code. */
  run(given: Arguments, terminal: Terminal): Promise<number>;
}

/** How a command ends; `run` adds the ends of a run. */
export const exit = { done: 0, failed: 1, misuse: 2 } as const;

export function textFlag({ flags }: Arguments, name: string): string | undefined {
  const value = flags[name];
  return typeof value === "string" ? value : undefined;
}

export function hasFlag({ flags }: Arguments, name: string): boolean {
  return flags[name] === true;
}
