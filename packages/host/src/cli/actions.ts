import {
  type Client,
  describeError,
  describeSharedReread,
  readSharedRereadCost,
  type Result,
  similarNames,
} from "@holdfast/client";
import { fieldErrors } from "@holdfast/protocol";
import type { z } from "zod";
import { type Arguments, exit, hasFlag, type Terminal } from "./command.ts";
import { withHost } from "./connection/connect.ts";
import { cleanJson, cleanLine } from "./screen/text.ts";
import { programStrings } from "./strings/program.ts";

/** What an action gets, such as `list` in `holdfast schedules list`. */
export interface ActionCall {
  readonly client: Client;
  readonly terminal: Terminal;
  readonly given: Arguments;
  /** What follows the action. */
  readonly words: readonly string[];
  /** The host's address; `undefined` if this process is the host. */
  readonly address: string | undefined;
}

export type Action = (call: ActionCall) => Promise<number>;

export interface ActionTable {
  readonly command: string;
  /** The action that runs when none is named. */
  readonly usual: string;
  readonly actions: Readonly<Record<string, Action>>;
}

/** Runs the action that the first word names. Resolves to the exit code. */
export async function runAction(
  given: Arguments,
  terminal: Terminal,
  { command, usual, actions }: ActionTable,
): Promise<number> {
  const [name = usual, ...words] = given.words;
  const action = Object.hasOwn(actions, name) ? actions[name] : undefined;
  if (action === undefined) {
    const known = Object.keys(actions);
    terminal.printError(
      programStrings.unknownAction(command, cleanLine(name), similarNames(name, known), known),
    );
    return exit.misuse;
  }
  return withHost(given, terminal, ({ client, address }) =>
    action({ client, terminal, given, words, address }),
  );
}

type Call = Pick<ActionCall, "terminal">;

/** The host refused: says why. */
export function failed({ terminal }: Call, { error }: Result<unknown> & { ok: false }): number {
  terminal.printError(cleanLine(describeError(error)));
  return exit.failed;
}

/** The person has to type something else. */
export function misuse({ terminal }: Call, sentence: string): number {
  terminal.printError(cleanLine(sentence));
  return exit.misuse;
}

export function say({ terminal }: Call, sentence: string): number {
  terminal.print(cleanLine(sentence));
  return exit.done;
}

/** Says what a change costs the conversations that it reaches, if that is worth a word. */
export async function sayReread(
  { client, given, terminal }: ActionCall,
  reached: { readonly project?: string } = {},
): Promise<void> {
  if (hasFlag(given, "json")) return;
  const cost = await readSharedRereadCost({ client, now: Date.now }, reached);
  if (cost !== null) terminal.print(cleanLine(describeSharedReread(cost)));
}

/** Says what was done, and what it costs the conversations that it reaches. */
export async function sayChange(
  call: ActionCall,
  sentence: string,
  reached: { readonly project?: string } = {},
): Promise<number> {
  say(call, sentence);
  await sayReread(call, reached);
  return exit.done;
}

/** What is wrong with each field, in one line. */
export function fieldSentences(error: z.ZodError): string {
  return fieldErrors(error)
    .map(({ path, message }) => programStrings.field(path, message))
    .join(" ");
}

/** Prints each item as a line of JSON if that is asked for, else as a row of cells. */
export async function printList<T>(
  call: Pick<ActionCall, "terminal" | "given">,
  items: readonly T[],
  cellsOf: (item: T) => readonly string[],
): Promise<void> {
  const { terminal, given } = call;
  if (hasFlag(given, "json")) for (const item of items) terminal.print(cleanJson(item));
  else await printCells(terminal, items.map(cellsOf));
}

/** Aligned columns on a terminal; in a pipe, cells between tabs. */
export async function printCells(
  terminal: Terminal,
  rows: readonly (readonly string[])[],
): Promise<void> {
  const cleaned = rows.map((cells) => cells.map(cleanLine));
  if (terminal.output.isTTY !== true || cleaned.length === 0)
    for (const cells of cleaned) terminal.print(cells.join("\t"));
  else {
    const { alignCells } = await import("./screen/columns.ts");
    for (const row of alignCells(cleaned, terminal)) terminal.print(row);
  }
}

/** The only match. With none, or several, the sentence for that is printed. */
export function onlyMatch<T>(
  call: Call,
  found: readonly T[],
  sentences: { readonly none: string; readonly several: string },
): T | undefined {
  const [match, ...others] = found;
  if (match !== undefined && others.length === 0) return match;
  misuse(call, match === undefined ? sentences.none : sentences.several);
  return undefined;
}
