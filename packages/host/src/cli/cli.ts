import { similarNames } from "@holdfast/client";
import { version } from "../util/version.ts";
import { type Command, exit, type Terminal, parseFlags } from "./command.ts";
import { commands } from "./commands/registry.ts";
import { cleanLine } from "./screen/text.ts";
import { programStrings } from "./strings/program.ts";

/** Runs the command that the arguments name and resolves to the exit code. */
export async function runCommandLine(args: readonly string[], terminal: Terminal): Promise<number> {
  const [name, ...rest] = args;
  const asksForHelp = name === "help" && rest[0] === undefined;
  if (name === undefined || name === "--help" || name === "-h" || asksForHelp) {
    const { programHelp } = await import("./help.ts");
    terminal.print(programHelp(terminal));
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
  return programStrings.unknownCommand(cleanLine(name), similarNames(name, names), names);
}

async function runCommand(
  { name, command }: { readonly name: string; readonly command: Command },
  args: readonly string[],
  terminal: Terminal,
): Promise<number> {
  const parsed = parseFlags(args, command);
  if (!parsed.ok) {
    terminal.printError(programStrings.seeHelp(parsed.sentence, name));
    return exit.misuse;
  }
  if (parsed.given.flags["help"] === true) {
    const { commandHelp } = await import("./help.ts");
    terminal.print(commandHelp(command, terminal));
    return exit.done;
  }
  return command.run(parsed.given, terminal);
}
