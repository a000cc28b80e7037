import {
  type CommandArgument,
  type CommandName,
  findCommand,
  commandNames,
  commands,
  commandUsage,
  type CompletionSource,
} from "@holdfast/protocol";

/** A command with its argument: trimmed, and checked as far as its shape goes. */
export interface Invocation {
  readonly name: CommandName;
  readonly argument: string;
}

/** What a typed text is. */
export type ParsedInput =
  | { readonly kind: "nothing" }
  | { readonly kind: "message"; readonly text: string }
  | { readonly kind: "command"; readonly invocation: Invocation }
  /** It looks like a command but is none: `nearest` may have been meant, or nothing is similar and it is `help`. */
  | { readonly kind: "unknown"; readonly name: string; readonly nearest: CommandName }
  | { readonly kind: "misused"; readonly name: CommandName; readonly sentence: string };

/**
 * A text that starts with a slash is a command; `//text` is the message `/text`. Anything else is a message, exactly as
 * typed.
 */
export function parseInput(text: string): ParsedInput {
  if (text.trim() === "") return { kind: "nothing" };
  if (!text.startsWith("/")) return { kind: "message", text };
  if (text.startsWith("//")) return { kind: "message", text: text.slice(1) };
  const [, typed = "", argument = ""] = /^\/(\S*)\s*([\s\S]*)$/.exec(text) ?? [];
  const command = findCommand(typed);
  if (command === undefined)
    return { kind: "unknown", name: typed, nearest: nearestCommand(typed) };
  return checkArgument(command, argument.trim());
}

/** The text to type so that this message is sent, whatever it starts with. */
export function escapeMessage(message: string): string {
  return message.startsWith("/") ? `/${message}` : message;
}

function nearestCommand(typed: string): CommandName {
  const [name = ""] = similarNames(typed, commandNames);
  return findCommand(name)?.name ?? "help";
}

function checkArgument(command: (typeof commands)[number], argument: string): ParsedInput {
  const { name, takes } = command;
  const done: ParsedInput = { kind: "command", invocation: { name, argument } };
  const misused = (why: string): ParsedInput => ({
    kind: "misused",
    name,
    sentence: `${why} Usage: ${commandUsage(command)}`,
  });
  switch (takes.kind) {
    case "nothing":
      return argument === "" ? done : misused(`/${name} takes no arguments.`);
    case "words":
      return takes.required && argument === "" ? misused(`/${name} needs text.`) : done;
    case "count": {
      const read = readCount(takes, argument);
      if (read !== null) return { kind: "command", invocation: { name, argument: read } };
      return misused(`/${name} takes a number from 1 to ${takes.most}.`);
    }
    case "choice": {
      const choice = argument.toLowerCase();
      if (choice === "" || takes.choices.includes(choice))
        return { kind: "command", invocation: { name, argument: choice } };
      return misused(`/${name} takes one of ${takes.choices.join(", ")}.`);
    }
  }
}

type CountArgument = Extract<CommandArgument, { kind: "count" }>;

/** The number, then the option, as far as each is there; `null` for anything else. */
function readCount({ most, options = [] }: CountArgument, argument: string): string | null {
  const typed = argument.toLowerCase().split(/\s+/);
  const numbers = typed.filter((word) => /^[1-9]\d{0,8}$/.test(word));
  const option = typed.filter((word) => word !== "" && !numbers.includes(word)).join(" ");
  const fits = option === "" || options.includes(option);
  const [count] = numbers;
  if (!fits || numbers.length > 1 || Number(count ?? 1) > most) return null;
  return [count, option].filter(Boolean).join(" ");
}

/**
 * How a text may continue. `values` are whole texts; `asks` says what else could be offered, and after which prefix.
 */
export interface Completion {
  readonly values: readonly string[];
  readonly asks?: {
    readonly what: CompletionSource;
    readonly typed: string;
    readonly before: string;
  };
}

const noCompletion: Completion = { values: [] };

/** What is known without asking a host. A surface that has sessions or models adds them by `asks`. */
export function completeInput(text: string): Completion {
  const found = /^\/(\S*)(\s+)?([\s\S]*)$/.exec(text);
  if (found === null || text.startsWith("//") || text.includes("\n")) return noCompletion;
  const [, typed = "", gap, argument = ""] = found;
  if (gap === undefined) return { values: namesStartingWith(typed.toLowerCase()) };
  const command = findCommand(typed);
  if (command === undefined) return noCompletion;
  const prefix = `/${typed}${gap}`;
  if (command.takes.kind === "choice") {
    const { choices, usually } = command.takes;
    if (usually === "alone" && (argument === "" || choices.includes(argument))) return noCompletion;
    const fitting = command.takes.choices.filter((choice) => choice.startsWith(argument));
    return { values: fitting.map((choice) => prefix + choice) };
  }
  if (command.takes.kind === "count") {
    const [, count = "", begun = ""] = /^(\d*\s+)?([\s\S]*)$/.exec(argument) ?? [];
    const { options = [] } = command.takes;
    // Enter after `/undo ` or `/undo files` is not for an option that nobody began to type.
    if (begun === "" || options.includes(begun)) return noCompletion;
    const fitting = options.filter((option) => option.startsWith(begun));
    return { values: fitting.map((option) => prefix + count + option) };
  }
  if (command.completes === undefined) return noCompletion;
  if (command.completes !== "command")
    return { values: [], asks: { what: command.completes, typed: argument, before: prefix } };
  const names = commands.map(({ name }) => name).filter((name) => name.startsWith(argument));
  return { values: names.map((name) => prefix + name) };
}

/** A command's own name goes before its aliases. */
function namesStartingWith(typed: string): string[] {
  const own = commands.map(({ name }) => name).filter((name) => name.startsWith(typed));
  const names = own.length > 0 ? own : commandNames.filter((name) => name.startsWith(typed));
  return names.map((name) => `/${name}`);
}

/** The name most likely meant: the one with the fewest wrong letters, preferring one that starts the same. */
export function nearestName(typed: string, names: readonly string[]): string | undefined {
  const typedName = typed.toLowerCase().slice(0, 40);
  let best: { readonly name: string; readonly distance: number } | undefined;
  for (const name of names) {
    const isPrefix = typedName !== "" && name.startsWith(typedName);
    const distance = isPrefix ? 0.5 : editDistance(typedName, name);
    if (best === undefined || distance < best.distance) best = { name, distance };
  }
  return best?.name;
}

/** Names that may have been meant, likeliest first; none if nothing is similar. */
export function similarNames(typed: string, names: readonly string[]): string[] {
  const typedName = typed.toLowerCase().slice(0, 40);
  const allowed = Math.max(1, Math.floor(typedName.length / 3));
  return names
    .map((name) => ({
      name,
      distance:
        typedName.length > 1 && name.startsWith(typedName) ? 0.5 : editDistance(typedName, name),
    }))
    .filter(({ distance }) => distance <= allowed)
    .toSorted((a, b) => a.distance - b.distance)
    .map(({ name }) => name);
}

/** Letters to add, drop, change or swap with their neighbour. */
export function editDistance(a: string, b: string): number {
  let beforeLast: number[] = [];
  let last = Array.from({ length: b.length + 1 }, (_, column) => column);
  for (let row = 1; row <= a.length; row += 1) {
    const next = [row];
    for (let column = 1; column <= b.length; column += 1) {
      const same = a[row - 1] === b[column - 1];
      let cost = Math.min(
        (last[column] ?? 0) + 1,
        (next[column - 1] ?? 0) + 1,
        (last[column - 1] ?? 0) + (same ? 0 : 1),
      );
      const swapped = a[row - 1] === b[column - 2] && a[row - 2] === b[column - 1];
      if (row > 1 && column > 1 && swapped)
        cost = Math.min(cost, (beforeLast[column - 2] ?? 0) + 1);
      next.push(cost);
    }
    beforeLast = last;
    last = next;
  }
  return last[b.length] ?? a.length;
}
