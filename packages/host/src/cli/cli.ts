import { similarNames } from "@holdfast/client";
import { version } from "../util/version.ts";
import { type Command, exit, type Terminal, parseFlags, describeCommand } from "./command.ts";
import { commands } from "./commands/registry.ts";
import { cleanLine } from "./screen/text.ts";

/** Runs the command that the arguments name and resolves to the exit code. */
export async function runCommandLine(args: readonly string[], terminal: Terminal): Promise<number> {
  const [name, ...rest] = args;
  if (name === undefined || name === "--help" || name === "-h") {
    terminal.print(help());
    return exit.done;
  }
  if (name === "--version" || name === "-v") {
    terminal.print(version);
    return exit.done;
  }
  if (name === "__complete") {
    const { printSuggestions } = await import("./completion/completion.ts");
    return printSuggestions(rest, terminal);
  }
  if (name === "help" && rest[0] !== undefined)
    return runCommandLine([rest[0], "--help"], terminal);
  const entry = Object.hasOwn(commands, name) ? commands[name] : undefined;
  if (entry === undefined) {
    terminal.printError(unknownCommandMessage(name));
    return exit.misuse;
  }
  return runCommand({ name, command: await entry.load() }, rest, terminal);
}

function unknownCommandMessage(name: string): string {
  const names = Object.keys(commands);
  const suggestions = similarNames(name, names).map((suggestion) => `"${suggestion}"`);
  const hint =
    suggestions.length > 0
      ? `Did you mean ${suggestions.join(" or ")}?`
      : `There are ${names.join(", ")}.`;
  return `"${cleanLine(name)}" is not a command of Holdfast. ${hint} "holdfast --help" says what each does.`;
}

async function runCommand(
  { name, command }: { readonly name: string; readonly command: Command },
  args: readonly string[],
  terminal: Terminal,
): Promise<number> {
  const parsed = parseFlags(args, command);
  if (!parsed.ok) {
    terminal.printError(`${parsed.sentence} "holdfast ${name} --help" shows what it takes.`);
    return exit.misuse;
  }
  if (parsed.given.flags["help"] === true) {
    terminal.print(describeCommand(command));
    return exit.done;
  }
  return command.run(parsed.given, terminal);
}

function help(): string {
  const widest = Math.max(...Object.keys(commands).map((name) => name.length));
  const rows = Object.entries(commands).map(
    ([name, { summary }]) => `  ${name.padEnd(widest)} ${summary}`,
  );
  return [
    `holdfast ${version}: conversations with agents that outlive what carries them.`,
    "",
    "Usage: holdfast <command> [flags]",
    ...rows,
    "",
    "Examples:",
    "  holdfast chat                              talk; nothing has to be set up",
    '  holdfast run "What is in this folder?"     one question, one answer',
    '  git diff | holdfast run "Review this."     what is piped in goes along',
    "  holdfast serve                             the page, at the address that it prints",
    "",
    '"holdfast <command> --help" shows examples, flags and settings of each.',
  ].join("\n");
}
