import { spawnSync } from "node:child_process";
import { homedir } from "node:os";
import {
  hostScript,
  startHost,
  startProcess,
  type StartedProcess,
} from "@holdfast/testing/process/start-process";
import { settingsFor } from "./served-host.ts";

const shellSafe = (text: string): string => `'${text.replaceAll("'", String.raw`'\''`)}'`;

/** Makes the pipes of a process look like a terminal to it, where there is no real one. */
const pretend = `
  Object.assign(process.stdin, { isTTY: true, setRawMode() {} });
  Object.assign(process.stdout, { isTTY: true, columns: 80, rows: 24 });`;

function hasScript(): boolean {
  // The util-linux version; others take their command differently.
  const asked = spawnSync("script", ["--version"], { encoding: "utf8" });
  return asked.status === 0 && asked.stdout.includes("util-linux");
}

/**
 * A command on its own terminal: a real pseudo-terminal by script(1), or pipes that pretend. By default it starts in
 * the person's home folder, where no session may work and nothing is asked about that.
 */
export function startOnTerminal(
  args: readonly string[],
  settings: Record<string, string>,
  cwd: string = homedir(),
): StartedProcess {
  const env = { TERM: "xterm-256color", NO_COLOR: "1", ...settingsFor(settings) };
  if (!hasScript()) {
    const preload = `data:text/javascript,${encodeURIComponent(pretend)}`;
    return startProcess(["--import", preload, hostScript(), ...args], {
      env,
      cwd,
      stdin: "pipe",
    });
  }
  const typed = [process.execPath, hostScript(), ...args].map(shellSafe).join(" ");
  const sized = `stty cols 80 rows 24; exec ${typed}`;
  return startProcess(["-qefc", sized, "/dev/null"], {
    env,
    cwd,
    stdin: "pipe",
    command: "script",
  });
}

/** A command whose input and output are pipes. */
export function startOnPipes(
  args: readonly string[],
  settings: Record<string, string>,
  cwd?: string,
): StartedProcess {
  const env = settingsFor(settings);
  return startHost(args, { env, stdin: "pipe", ...(cwd !== undefined && { cwd }) });
}

/** Keys that a terminal handles itself while it edits a line. */
export const pressOnLine = {
  interrupt: (chat: StartedProcess): void =>
    hasScript() ? chat.type("\u0003") : chat.signal("SIGINT"),
  endOfInput: (chat: StartedProcess): void => (hasScript() ? chat.type("\u0004") : chat.endInput()),
};
