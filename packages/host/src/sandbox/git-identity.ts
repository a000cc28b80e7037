import { findProgram } from "./find-program.ts";
import { allowedEnvironment, runCommand } from "./run-command.ts";

const timeLimitMs = 5_000;

/** A configuration with the name and e-mail address of the host's user, and nothing else of theirs. */
export async function readGitIdentity(
  environment: Readonly<Record<string, string | undefined>>,
): Promise<string> {
  const git = findProgram("git");
  if (git === null) return "";
  const end = await runCommand({
    argv: [git, "config", "--global", "--null", "--get-regexp", "^user\\.(name|email)$"],
    folder: "/",
    environment: allowedEnvironment(environment),
    timeLimitMs,
    signal: new AbortController().signal,
  });
  if (end.kind !== "exited" || end.code !== 0) return "";
  const lines = end.output.split("\0").flatMap((entry) => {
    const [, key, value] = /^user\.(name|email)\n([\s\S]*)$/.exec(entry) ?? [];
    return key === undefined || value === undefined ? [] : [`\t${key} = ${quote(value)}\n`];
  });
  return lines.length === 0 ? "" : `[user]\n${lines.join("")}`;
}

function quote(value: string): string {
  const escaped = value.replace(/[\\"]/g, (character) => `\\${character}`).replace(/\n/g, "\\n");
  return `"${escaped}"`;
}
