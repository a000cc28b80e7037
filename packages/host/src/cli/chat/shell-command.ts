import { runCommand } from "../../sandbox/run-command.ts";
import { chatStrings } from "../strings/chat.ts";

const texts = chatStrings.shell;

const timeLimitMs = 10 * 60_000;
/** How much of the output the model gets: its beginning and its end. */
const maxOutput = 20_000;

export interface ShellRun {
  /** How it ended, for the person. */
  readonly summary: string;
  readonly succeeded: boolean;
  /** The command and its output, for the next message. */
  readonly quote: string;
}

/**
 * Runs a person's own command in their folder, as their shell would: it is theirs, not the model's, so no sandbox
 * confines it.
 */
export async function runShellCommand(
  command: string,
  deps: {
    readonly folder: string;
    readonly signal: AbortSignal;
    readonly onOutput: (text: string) => void;
  },
): Promise<ShellRun> {
  const environment = Object.fromEntries(
    Object.entries(process.env).flatMap(([name, value]) =>
      value === undefined ? [] : [[name, value]],
    ),
  );
  const end = await runCommand({
    argv: [environment["SHELL"] ?? "/bin/sh", "-c", command],
    environment,
    folder: deps.folder,
    timeLimitMs,
    keep: maxOutput,
    signal: deps.signal,
    onOutput: deps.onOutput,
  });
  const summary = describeEnd(end);
  const succeeded = end.kind === "exited" && end.code === 0;
  const fence = "`".repeat(Math.max(3, longestRun(end.output) + 1));
  const quote = `${texts.quoted(command, summary)}\n${fence}\n${end.output.trimEnd()}\n${fence}`;
  return { summary, succeeded, quote };
}

function describeEnd(end: Awaited<ReturnType<typeof runCommand>>): string {
  switch (end.kind) {
    case "exited":
      return texts.exited(end.code);
    case "killed":
      return texts.killed(end.signal);
    case "stopped":
      return end.why === "time" ? texts.tooLong : texts.stopped;
    case "not_started":
      return texts.notStarted(end.code);
  }
}

/** The longest run of backticks, which a fence has to exceed. */
function longestRun(text: string): number {
  return Math.max(0, ...Array.from(text.matchAll(/`+/g), ([run]) => run.length));
}
