import { findCommand, commandNames, commands, type CompletionSource } from "@holdfast/protocol";

/** How a text may go on. `values` are whole texts; `asks` says what else could be offered, and behind what. */
export interface Completion {
  readonly values: readonly string[];
  readonly asks?: {
    readonly what: CompletionSource;
    readonly typed: string;
    readonly before: string;
  };
}

const noCompletion: Completion = { values: [] };

/** What can be known without asking a host. A surface that has sessions or models at hand adds them by `asks`. */
export function completeInput(text: string): Completion {
  const found = /^\/(\S*)(\s+)?([\s\S]*)$/.exec(text);
  if (found === null || text.startsWith("//") || text.includes("\n")) return noCompletion;
  const [, typed = "", gap, argument = ""] = found;
  if (gap === undefined) return { values: namesStartingWith(typed.toLowerCase()) };
  const command = findCommand(typed);
  if (command === undefined) return noCompletion;
  const before = `/${typed}${gap}`;
  if (command.takes.kind === "choice") {
    const fitting = command.takes.choices.filter((each) => each.startsWith(argument));
    return { values: fitting.map((each) => before + each) };
  }
  if (command.completes === undefined) return noCompletion;
  if (command.completes !== "command")
    return { values: [], asks: { what: command.completes, typed: argument, before } };
  const names = commands.map(({ name }) => name).filter((name) => name.startsWith(argument));
  return { values: names.map((name) => before + name) };
}

/** A command's own name goes before the others that it goes by. */
function namesStartingWith(typed: string): string[] {
  const own = commands.map(({ name }) => name).filter((name) => name.startsWith(typed));
  const names = own.length > 0 ? own : commandNames.filter((name) => name.startsWith(typed));
  return names.map((name) => `/${name}`);
}
