import type { Tool, ToolCall, ToolResult } from "@holdfast/engine";
import { z } from "zod";

import { type CommandEnd, runCommand } from "./run-command.ts";

export interface TerminalParts {
  /** Where a session's commands run. It is there when this resolves. */
  readonly folderFor: (call: ToolCall) => Promise<string>;
  readonly environment: Readonly<Record<string, string>>;
}

const input = z.strictObject({
  command: z.union([
    z.string().min(1),
    z.tuple([z.string().min(1)], z.string()).describe("The program and its arguments."),
  ]),
});

const timeLimitMs = 10 * 60 * 1000;

/**
 * Runs a command in the session's workspace. A list is run as it is; a text is given to a shell. Each asks for a person's
 * word first, lists too: a list may name a shell as its program.
 */
export function createTerminal({ folderFor, environment }: TerminalParts): Tool {
  return {
    name: "terminal",
    description:
      "Runs a command in the workspace and answers with its output. Give a list of a program and its arguments, or a line for the shell.",
    input: {
      type: "object",
      properties: {
        command: {
          anyOf: [{ type: "string" }, { type: "array", items: { type: "string" }, minItems: 1 }],
        },
      },
      required: ["command"],
      additionalProperties: false,
    },
    replay: "never",
    timeLimitMs,
    approval: () => "ask",
    async run(call, { signal, write }) {
      const parsed = input.safeParse(call.input);
      if (!parsed.success)
        return { outcome: "failed", output: 'Expected {"command": "…"} or {"command": ["…", …]}.' };
      const { command } = parsed.data;
      const argv: [string, ...string[]] =
        typeof command === "string" ? ["/bin/sh", "-c", command] : command;
      const folder = await folderFor(call);
      const onOutput = write;
      // The engine stops it at the time limit, by the signal.
      return resultOf(
        argv[0],
        await runCommand({ argv, folder, environment, timeLimitMs, signal, onOutput }),
      );
    },
  };
}

function resultOf(program: string, end: CommandEnd): ToolResult {
  const { output } = end;
  const failed = (words: string): ToolResult => ({
    outcome: "failed",
    output: output === "" ? words : `${output}\n${words}`,
  });
  switch (end.kind) {
    case "exited":
      return end.code === 0
        ? { outcome: "ok", output }
        : failed(`It ended with exit code ${end.code}.`);
    case "killed":
      return failed(`It was ended by ${end.signal}.`);
    case "stopped":
      return end.why === "cancelled"
        ? { outcome: "cancelled", output }
        : failed("It took too long and was stopped.");
    case "not_started":
      return failed(`${program} could not be started (${end.code}).`);
  }
}
