import type { Tool, ToolResult } from "@holdfast/engine";
import { z } from "zod";

import { defineTool, failed } from "./define-tool.ts";
import { type FileToolParts, openWorkspace } from "./in-workspace.ts";
import { type CommandEnd, runCommand } from "./run-command.ts";

export interface TerminalParts extends FileToolParts {
  readonly environment: Readonly<Record<string, string>>;
}

const longestCommand = 100_000;
const usualTimeLimitMs = 2 * 60 * 1000;
const mostTimeLimitMs = 10 * 60 * 1000;

const noNul = z
  .string()
  .max(longestCommand)
  .refine((text) => !text.includes("\0"), "no NUL");

const input = z.strictObject({
  command: z
    .union([noNul.min(1), z.tuple([noNul.min(1)], noNul)])
    .describe("A list of a program and its arguments; or a line for the shell."),
  folder: z.string().max(4_096).optional().describe("Where; the workspace unless told."),
  seconds: z
    .int()
    .min(1)
    .max(mostTimeLimitMs / 1000)
    .optional()
    .describe(`How long it may take; ${usualTimeLimitMs / 1000} unless told.`),
});

/**
 * Runs a command in the session's workspace. A list is run as it is; a text is given to a shell. Each asks for a person's
 * word first, lists too: a list may name a shell as its program.
 */
export function createTerminal(parts: TerminalParts): Tool {
  return defineTool({
    name: "terminal",
    description:
      "Runs a command in the workspace and answers with its output. Prefer a list of a program and its arguments; a line is given to a shell.",
    input,
    replay: "never",
    timeLimitMs: mostTimeLimitMs + 10_000,
    asks: "ask",
    place: (call) => parts.workspaces.folderFor(call),
    async run({ command, folder = ".", seconds }, call, { signal, write }) {
      const jail = await openWorkspace(parts, call);
      const found = await jail.folder(folder);
      if (!found.ok) return failed(found.refusal.words);
      const argv: [string, ...string[]] =
        typeof command === "string" ? ["/bin/sh", "-c", command] : command;
      const end = await runCommand({
        argv,
        folder: found.value,
        environment: parts.environment,
        timeLimitMs: seconds === undefined ? usualTimeLimitMs : seconds * 1000,
        signal,
        onOutput: write,
      });
      return resultOf(argv[0], end);
    },
  });
}

function resultOf(program: string, end: CommandEnd): ToolResult {
  const { output } = end;
  const ended = (words: string): ToolResult =>
    failed(output === "" ? words : `${output}\n${words}`);
  switch (end.kind) {
    case "exited":
      return end.code === 0
        ? { outcome: "ok", output }
        : ended(`It ended with exit code ${end.code}.`);
    case "killed":
      return ended(`It was ended by ${end.signal}.`);
    case "stopped":
      return end.why === "cancelled"
        ? { outcome: "cancelled", output }
        : ended("It took too long and was stopped.");
    case "not_started":
      return ended(`${program} could not be started (${end.code}).`);
  }
}
