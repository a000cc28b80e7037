import { nearNames } from "@holdfast/protocol";
import { version } from "../version.ts";
import { type Command, exit, type Terminal } from "./command.ts";
import { parseFlags } from "./flags.ts";
import { describeCommand } from "./help.ts";
import { cleanLine } from "./screen/index.ts";

export { leaveWithoutReaders } from "./without-readers.ts";

interface Entry {
  readonly summary: string;
  /** A command is loaded when it is asked for: `--version` should not wait for a web server. */
  readonly load: () => Promise<Command>;
}

const commands: Readonly<Record<string, Entry>> = {
  serve: {
    summary: "serve the page and the API",
    load: async () => (await import("./serve.ts")).serve,
  },
  chat: {
    summary: "talk in this terminal",
    load: async () => (await import("./chat/index.ts")).chat,
  },
  run: {
    summary: "ask once and print the answer",
    load: async () => (await import("./run.ts")).run,
  },
  sessions: {
    summary: "list, show, search, rename, delete, restore and branch sessions",
    load: async () => (await import("./sessions.ts")).sessions,
  },
  gateway: {
    summary: "the chat bot: who asks to speak to it, and what has not arrived",
    load: async () => (await import("./gateway.ts")).gateway,
  },
  schedules: {
    summary: "prompts that are said by themselves: list, add, switch off and on, remove",
    load: async () => (await import("./schedules.ts")).schedules,
  },
  export: {
    summary: "write a session as Markdown, a page, or JSON",
    load: async () => (await import("./transfer.ts")).exportCommand,
  },
  import: {
    summary: "take in a session that was exported as JSON",
    load: async () => (await import("./transfer.ts")).importCommand,
  },
  backup: {
    summary: "copy everything while hosts work",
    load: async () => (await import("./transfer.ts")).backup,
  },
  restore: {
    summary: "put a backup into an empty home",
    load: async () => (await import("./transfer.ts")).restore,
  },
  config: {
    summary: "show every setting and where it came from, set one, print the schema",
    load: async () => (await import("./config.ts")).config,
  },
  doctor: {
    summary: "check everything, and say how to mend what is wrong",
    load: async () => (await import("./doctor/index.ts")).doctor,
  },
  fsck: {
    summary: "prove that everything stored is whole, or mend what can be derived again",
    load: async () => (await import("./fsck.ts")).fsck,
  },
  bench: {
    summary: "measure this disk and this store for a few seconds",
    load: async () => (await import("./bench.ts")).bench,
  },
};

/** Runs what the arguments ask for and answers the exit code. */
export async function runCommandLine(args: readonly string[], terminal: Terminal): Promise<number> {
  const [name, ...rest] = args;
  if (name === undefined || name === "--help" || name === "-h") {
    terminal.say(help());
    return exit.done;
  }
  if (name === "--version" || name === "-v") {
    terminal.say(version);
    return exit.done;
  }
  if (name === "help" && rest[0] !== undefined)
    return runCommandLine([rest[0], "--help"], terminal);
  const entry = Object.hasOwn(commands, name) ? commands[name] : undefined;
  if (entry === undefined) {
    terminal.complain(notACommand(name));
    return exit.misuse;
  }
  return runCommand(await entry.load(), rest, terminal);
}

function notACommand(name: string): string {
  const names = Object.keys(commands);
  const near = nearNames(name, names).map((each) => `"${each}"`);
  const meant =
    near.length > 0 ? `Did you mean ${near.join(" or ")}?` : `There are ${names.join(", ")}.`;
  return `"${cleanLine(name)}" is not a command of Holdfast. ${meant} "holdfast --help" says what each does.`;
}

async function runCommand(
  command: Command,
  args: readonly string[],
  terminal: Terminal,
): Promise<number> {
  const parsed = parseFlags(args, command);
  if (!parsed.ok) {
    terminal.complain(parsed.sentence);
    return exit.misuse;
  }
  if (parsed.given.flags["help"] === true) {
    terminal.say(describeCommand(command));
    return exit.done;
  }
  return command.run(parsed.given, terminal);
}

function help(): string {
  const rows = Object.entries(commands).map(
    ([name, { summary }]) => `  ${name.padEnd(10)} ${summary}`,
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
