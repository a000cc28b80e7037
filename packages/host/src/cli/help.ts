import { version } from "../util/version.ts";
import { flagOf, settings as allSettings, variableOf } from "../ops/config/settings.ts";
import { type Command, settingsOf, type Terminal } from "./command.ts";
import { commands } from "./commands/registry.ts";
import { createPaint } from "./screen/paint.ts";
import { columnsOf } from "./screen/screen.ts";
import { wrapSpans } from "./screen/wrap.ts";
import { programStrings } from "./strings/program.ts";

const texts = programStrings.help;
const maxColumns = 100;
const pipeColumns = 80;
/** Explanations begin in this column; what is longer stands on a line of its own. */
const flagColumn = 26;

type Window = Pick<Terminal, "output" | "environment">;
type Wrap = (text: string, first: string, rest?: string) => string[];

function wrapFor({ output, environment }: Window): Wrap {
  const width = Math.min(maxColumns, columnsOf(output, pipeColumns) - 1);
  const paint = createPaint(output, environment);
  return (text, first, rest) =>
    wrapSpans([{ text, styles: [] }], paint, { width, first, rest: rest ?? first });
}

/** What `holdfast --help` prints. */
export function programHelp(window: Window): string {
  const wrap = wrapFor(window);
  const widest = Math.max(...Object.keys(commands).map((name) => name.length));
  const rows = Object.entries(commands).flatMap(([name, { summary }]) =>
    wrap(summary, `  ${name.padEnd(widest)}  `, " ".repeat(widest + 4)),
  );
  const examples = [
    ["holdfast chat", texts.example.chat],
    ['holdfast run "What is in this folder?"', texts.example.run],
    ['git diff | holdfast run "Review this."', texts.example.pipe],
    ["holdfast serve", texts.example.serve],
  ] as const;
  return [
    texts.title(version),
    "",
    texts.usage,
    "",
    texts.commands,
    ...rows,
    "",
    texts.examples,
    ...examples.flatMap((example) => exampleRows(example, wrap)),
    "",
    texts.more,
  ].join("\n");
}

/** What `holdfast <command> --help` prints. */
export function commandHelp(command: Command, window: Window): string {
  const wrap = wrapFor(window);
  const { usage, about, flags = {}, examples } = command;
  const flagRows = Object.entries(flags).flatMap(([name, { value, about: meaning }]) => {
    const typed = value === undefined ? `  --${name}` : `  --${name} <${value}>`;
    const rest = " ".repeat(flagColumn);
    return typed.length < flagColumn
      ? wrap(meaning, typed.padEnd(flagColumn), rest)
      : [typed, ...wrap(meaning, rest)];
  });
  return [
    ...usage.flatMap((line, index) => usageRows(line, index, window, wrap)),
    "",
    ...about
      .split("\n\n")
      .flatMap((text, index) => [...(index > 0 ? [""] : []), ...wrap(text, "")]),
    ...section(texts.flags, flagRows),
    ...section(
      texts.examples,
      examples.flatMap((example) => exampleRows(example, wrap)),
    ),
    ...section(settingsTitle(command.settings), settingRows(command.settings, wrap)),
  ].join("\n");
}

/** Scripts read one line for each usage, so only a terminal wraps them. */
function usageRows(line: string, index: number, { output }: Window, wrap: Wrap): string[] {
  const indent = " ".repeat(texts.indentedUsage.length);
  const first = `${index === 0 ? texts.indentedUsage : indent}holdfast `;
  return output.isTTY === true ? wrap(line, first, `${indent}    `) : [first + line];
}

function section(title: string, rows: readonly string[]): string[] {
  return rows.length === 0 ? [] : ["", title, ...rows];
}

function exampleRows([typed, meaning]: readonly [string, string], wrap: Wrap): string[] {
  return [`  ${typed}`, ...wrap(meaning, "      ")];
}

function settingsTitle(kind: Command["settings"]): string {
  return kind === "host" ? texts.hostSettings : texts.reachSettings;
}

function settingRows(kind: Command["settings"], wrap: Wrap): string[] {
  return settingsOf(kind).flatMap((name) => {
    const { about, fallbackInWords } = allSettings[name];
    return [
      `  --${flagOf(name)}, ${variableOf(name)}`,
      ...wrap(`${about} (${fallbackInWords})`, "      "),
    ];
  });
}
