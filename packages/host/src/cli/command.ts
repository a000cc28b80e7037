import type { Readable } from "node:stream";
import { fstatSync } from "node:fs";
import { parseArgs } from "node:util";
import type { TerminalOutput } from "./screen/screen.ts";
import {
  flagOf,
  settingNames,
  type SettingName,
  settings as allSettings,
  variableOf,
} from "../ops/config/settings.ts";

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
  try {
    const { values, positionals } = parseArgs({
      args: [...args],
      options: {
        ...Object.fromEntries(settings),
        ...Object.fromEntries(commandFlags),
        help: { type: "boolean", short: "h" },
      },
      allowPositionals: takesPositionals(command),
    });
    return { ok: true, given: { words: positionals, flags: values } };
  } catch (error) {
    // The first sentence of its messages matters; the advice after it does not.
    const [sentence] = error instanceof Error ? error.message.split(/\.\s|\n/) : [];
    return { ok: false, sentence: `${sentence ?? "The flags cannot be read"}.` };
  }
}

/** Whether it takes arguments other than flags. */
function takesPositionals({ usage }: Pick<Command, "usage">): boolean {
  return usage.some((line) => line.includes(" "));
}

/** The settings needed to reach a host, or to open one here. */
const connectionSettings: readonly SettingName[] = ["home", "store", "url", "token", "model"];

/** The help of a command. */
export function describeCommand(command: Command): string {
  const { usage, about, flags = {}, examples } = command;
  const typedFlags = Object.entries(flags).map(([name, { value, about: meaning }]) => {
    const typed = value === undefined ? `--${name}` : `--${name} <${value}>`;
    return { typed, meaning };
  });
  const widest = Math.max(24, ...typedFlags.map(({ typed }) => typed.length));
  const flagRows = typedFlags.map(({ typed, meaning }) => `  ${typed.padEnd(widest)} ${meaning}`);
  return [
    ...usage.map((line, index) => `${index === 0 ? "Usage: " : "       "}holdfast ${line}`),
    "",
    about,
    ...section("Flags:", flagRows),
    ...section("Examples:", examples.flatMap(showExample)),
    ...section(settingsTitle(command.settings), settingRows(command.settings)),
  ].join("\n");
}

function section(title: string, rows: readonly string[]): string[] {
  return rows.length === 0 ? [] : ["", title, ...rows];
}

function showExample([typed, meaning]: readonly [string, string]): string[] {
  return [`  ${typed}`, `      ${meaning}`];
}

function settingsTitle(kind: Command["settings"]): string {
  const sources = "as a flag, in the environment, or in config.json in the home:";
  return kind === "host" ? `Settings, ${sources}` : `Where the host is, ${sources}`;
}

/** The settings that a command's help lists. */
export function settingsOf(kind: Command["settings"]): readonly SettingName[] {
  if (kind === "none") return [];
  return kind === "host" ? settingNames : connectionSettings;
}

function settingRows(kind: Command["settings"]): string[] {
  const names = settingsOf(kind);
  const widest = Math.max(...names.map((name) => flagOf(name).length));
  const widestVariable = Math.max(...names.map((name) => variableOf(name).length));
  return names.map((name) => {
    const { about, fallbackInWords } = allSettings[name];
    const flag = `--${flagOf(name).padEnd(widest)}`;
    return `  ${flag} ${variableOf(name).padEnd(widestVariable)}  ${about} (${fallbackInWords})`;
  });
}
