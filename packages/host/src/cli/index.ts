import { version } from "../version.ts";
import { type Command, misuse, type Terminal } from "./command.ts";
import { describeSettings } from "./flags.ts";

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
};

/** Runs what the arguments ask for and answers the exit code. */
export async function runCommandLine(args: readonly string[], terminal: Terminal): Promise<number> {
  const [name, ...rest] = args;
  if (name === undefined || name === "--help" || name === "-h") {
    terminal.say(help());
    return 0;
  }
  if (name === "--version" || name === "-v") {
    terminal.say(version);
    return 0;
  }
  if (!Object.hasOwn(commands, name)) {
    terminal.complain(
      `"${name}" is not a command of Holdfast: "holdfast --help" lists what there is.`,
    );
    return misuse;
  }
  const command = await commands[name]?.load();
  return command === undefined ? misuse : command.run(rest, terminal);
}

function help(): string {
  const rows = Object.entries(commands).map(
    ([name, { summary }]) => `  ${name.padEnd(10)} ${summary}`,
  );
  return [
    `holdfast ${version}: conversations with agents that outlive what carries them.`,
    "",
    "holdfast <command> [flags]",
    ...rows,
    "",
    describeSettings(),
  ].join("\n");
}
