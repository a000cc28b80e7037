import { commandNamed, commandNames, commands, type Completes } from "@holdfast/protocol";

/** How a text may go on. `values` are whole texts; `asks` says what else could be offered, and behind what. */
export interface Completion {
  readonly values: readonly string[];
  readonly asks?: { readonly what: Completes; readonly typed: string; readonly before: string };
}

const none: Completion = { values: [] };

/** What can be known without asking a host. A surface that has sessions or models at hand adds them by `asks`. */
export function completeTyped(text: string): Completion {
  const found = /^\/(\S*)(\s+)?([\s\S]*)$/.exec(text);
  if (found === null || text.startsWith("//") || text.includes("\n")) return none;
  const [, typed = "", gap, argument = ""] = found;
  if (gap === undefined) return { values: namesFrom(typed.toLowerCase()) };
  const command = commandNamed(typed);
  if (command === undefined) return none;
  const before = `/${typed}${gap}`;
  if (command.takes.kind === "choice") {
    const fitting = command.takes.choices.filter((each) => each.startsWith(argument));
    return { values: fitting.map((each) => before + each) };
  }
  if (command.completes === undefined) return none;
  if (command.completes !== "command")
    return { values: [], asks: { what: command.completes, typed: argument, before } };
  const names = commands.map(({ name }) => name).filter((name) => name.startsWith(argument));
  return { values: names.map((name) => before + name) };
}

/** A command's own name goes before the others that it goes by. */
function namesFrom(typed: string): string[] {
  const own = commands.map(({ name }) => name).filter((name) => name.startsWith(typed));
  const names = own.length > 0 ? own : commandNames.filter((name) => name.startsWith(typed));
  return names.map((name) => `/${name}`);
}
