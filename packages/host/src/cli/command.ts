import type { Readable } from "node:stream";
import { fstatSync } from "node:fs";
import { parseArgs } from "node:util";
import type { TerminalOutput } from "./screen/screen.ts";
import { similarNames } from "@holdfast/client";
import { flagOf, type SettingName, settingNames } from "../ops/config/settings.ts";
import { cleanLine } from "./screen/text.ts";
import { programStrings } from "./strings/program.ts";

const texts = programStrings;

/** What is typed or piped in. */
export type Input = Readable & {
  readonly isTTY?: boolean;
  setRawMode?(mode: boolean): unknown;
};

/** A command's surroundings. */
export interface Terminal {
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly personFolder: string;
  readonly input: Input;
  readonly output: TerminalOutput;
  print(line: string): void;
  printError(line: string): void;
}

/** A flag of one command. Every setting is a flag of all commands, too. */
export interface CommandFlag {
  readonly type: "string" | "boolean";
  readonly about: string;
  /** Placeholder for its value in the help: `--session <id>`. */
  readonly value?: string;
}

export interface Arguments {
  readonly words: readonly string[];
  readonly flags: Readonly<Record<string, unknown>>;
}

export interface Command {
  /** How it is typed, after `holdfast`. */
  readonly usage: readonly string[];
  readonly about: string;
  readonly flags?: Readonly<Record<string, CommandFlag>>;
  /** Pairs of what to type and what it does. */
  readonly examples: readonly (readonly [string, string])[];
  /** Which settings its help lists: those of a host, or those needed to reach one. */
  readonly settings: "host" | "reach" | "none";
  /** Resolves to the exit code. */
  run(given: Arguments, terminal: Terminal): Promise<number>;
}

/** Exit codes of all commands; `run` adds those of a run's end. */
export const exit = { done: 0, failed: 1, misuse: 2 } as const;

export function textFlag({ flags }: Arguments, name: string): string | undefined {
  const value = flags[name];
  return typeof value === "string" ? value : undefined;
}

export function hasFlag({ flags }: Arguments, name: string): boolean {
  return flags[name] === true;
}

/** Whether standard input is a pipe, a file or a socket. */
export function isPiped(input: Input): boolean {
  if (input.isTTY === true) return false;
  try {
    const stat = fstatSync(0);
    return stat.isFIFO() || stat.isFile() || stat.isSocket();
  } catch {
    return false;
  }
}

export async function readAll(input: Input): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of input) chunks.push(Buffer.from(chunk as Uint8Array | string));
  return Buffer.concat(chunks).toString("utf8");
}

export type ParsedFlags =
  | { readonly ok: true; readonly given: Arguments }
  | { readonly ok: false; readonly sentence: string };

/** Parses a command's arguments: its own flags, one for each setting, `--help`, and words. */
export function parseFlags(
  args: readonly string[],
  command: Pick<Command, "flags" | "usage">,
): ParsedFlags {
  const settings = settingNames.map((name) => [flagOf(name), { type: "string" }] as const);
  const commandFlags = Object.entries(command.flags ?? {}).map(
    ([name, { type }]) => [name, { type }] as const,
  );
  const options = Object.fromEntries([...settings, ...commandFlags]);
  try {
    const { values, positionals } = parseArgs({
      args: [...args],
      options: { ...options, help: { type: "boolean", short: "h" } },
      allowPositionals: takesPositionals(command),
    });
    return { ok: true, given: { words: positionals, flags: values } };
  } catch (error) {
    return { ok: false, sentence: sentenceFor(error, Object.keys(options)) };
  }
}

/** Node's own messages speak to programmers. */
function sentenceFor(error: unknown, known: readonly string[]): string {
  if (!(error instanceof Error)) return texts.unreadableFlags;
  const [, quoted = ""] = /'([^']*)'/.exec(error.message) ?? [];
  const [, flag = ""] = /--([^\s=,']+)/.exec(error.message) ?? [];
  switch ("code" in error ? error.code : undefined) {
    case "ERR_PARSE_ARGS_UNKNOWN_OPTION":
      return flag === ""
        ? texts.shortFlag(cleanLine(quoted))
        : texts.unknownFlag(cleanLine(flag), similarNames(flag, known).slice(0, 2));
    case "ERR_PARSE_ARGS_UNEXPECTED_POSITIONAL":
      return texts.unexpectedArgument(cleanLine(quoted));
    case "ERR_PARSE_ARGS_INVALID_OPTION_VALUE":
      if (error.message.includes("does not take")) return texts.flagTakesNoValue(flag);
      return error.message.includes("ambiguous")
        ? texts.flagValueLooksLikeFlag(flag)
        : texts.flagNeedsValue(flag);
    default:
      return texts.unreadableFlags;
  }
}

/** Whether it takes arguments other than flags. */
function takesPositionals({ usage }: Pick<Command, "usage">): boolean {
  return usage.some((line) => line.includes(" "));
}

/** The settings needed to reach a host, or to open one here. */
const connectionSettings: readonly SettingName[] = ["home", "store", "url", "token", "model"];

/** The settings that a command's help lists. */
export function settingsOf(kind: Command["settings"]): readonly SettingName[] {
  if (kind === "none") return [];
  return kind === "host" ? settingNames : connectionSettings;
}
