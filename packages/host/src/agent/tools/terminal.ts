import type { Tool, ToolCall, ToolResult } from "@holdfast/engine";
import { z } from "zod";

import { type CommandEnd, runCommand } from "../../util/run-command.ts";
import { defineTool, failed, ok } from "./define-tool.ts";
import { type FileToolDeps, openWorkspace } from "./file-tool.ts";

type Argv = [string, ...string[]];
type Environment = Readonly<Record<string, string>>;

/** Starts commands that outlive their call. */
export interface BackgroundRunner {
  /** How long one may run. */
  readonly maxSeconds: number;
  start(
    call: ToolCall,
    command: {
      readonly argv: Argv;
      readonly folder: string;
      readonly environment: Record<string, string>;
      readonly timeLimitMs: number;
      readonly shown: string;
    },
  ): Promise<
    | { readonly status: "started"; readonly id: string }
    | { readonly status: "refused"; readonly words: string }
  >;
}

export interface TerminalDeps extends FileToolDeps {
  readonly environment: Environment;
  readonly background?: BackgroundRunner;
}

const maxCommandLength = 100_000;
const defaultTimeLimitMs = 2 * 60 * 1000;
const maxTimeLimitMs = 10 * 60 * 1000;

const noNul = z
  .string()
  .max(maxCommandLength)
  .refine((text) => !text.includes("\0"), "no NUL");

const command = z
  .union([noNul.min(1), z.tuple([noNul.min(1)], noNul)])
  .describe("A list of a program and its arguments; or a line for the shell.");
const folder = z.string().max(4_096).optional().describe("Where; the workspace unless told.");
const defaultSeconds = defaultTimeLimitMs / 1000;
const maxSeconds = maxTimeLimitMs / 1000;
const defaultBackgroundSeconds = 3_600;

function terminalInput(background: BackgroundRunner | undefined) {
  const seconds = z.int().min(1);
  const short = seconds
    .max(maxSeconds)
    .optional()
    .describe(`How long it may take; ${defaultSeconds} unless told.`);
  const base = z.strictObject({ command, folder, seconds: short });
  if (background === undefined) return base;
  const maxBackgroundSeconds = background.maxSeconds;
  const long = seconds
    .max(Math.max(maxBackgroundSeconds, maxSeconds))
    .optional()
    .describe(
      `How long it may take; ${defaultSeconds} unless told, ${maxSeconds} at most. In the background ${Math.min(defaultBackgroundSeconds, maxBackgroundSeconds)}, and ${maxBackgroundSeconds} at most.`,
    );
  return base.extend({
    seconds: long,
    background: z
      .literal(true)
      .optional()
      .describe(
        "It goes on when this turn is over, and its end is told by itself. For servers and what takes long.",
      ),
  });
}

/**
 * Runs a command in the session's workspace. A list runs as is; a text goes to a shell. Both require approval: a list
 * may name a shell as its program.
 */
export function createTerminal(deps: TerminalDeps): Tool {
  return defineTool({
    name: "terminal",
    description:
      "Runs a command in the workspace and answers with its output. Prefer a list of a program and its arguments; a line is given to a shell.",
    input: terminalInput(deps.background),
    replay: "never",
    timeLimitMs: maxTimeLimitMs + 10_000,
    asks: "ask",
    place: (call) => deps.workspaces.placeFor(call),
    async run(input, call, { signal, write }) {
      const jail = await openWorkspace(deps, call);
      const found = await jail.folder(input.folder ?? ".");
      if (!found.ok) return failed(found.refusal.message);
      const { seconds } = input;
      const argv: Argv =
        typeof input.command === "string" ? ["/bin/sh", "-c", input.command] : input.command;
      if ("background" in input && input.background === true)
        return startInBackground(deps, call, { argv, folder: found.value, seconds });
      if (seconds !== undefined && seconds > maxSeconds)
        return failed(`It may take ${maxSeconds} seconds at most, or run in the background.`);
      const end = await runCommand({
        argv,
        folder: found.value,
        environment: deps.environment,
        timeLimitMs: seconds === undefined ? defaultTimeLimitMs : seconds * 1000,
        signal,
        onOutput: write,
      });
      return resultOf(argv[0], end);
    },
  });
}

async function startInBackground(
  { background, environment }: TerminalDeps,
  call: ToolCall,
  request: { readonly argv: Argv; readonly folder: string; readonly seconds: number | undefined },
): Promise<ToolResult> {
  const { argv, folder: cwd, seconds = defaultBackgroundSeconds } = request;
  if (background === undefined) return failed("Nothing runs in the background here.");
  const shell = argv[0] === "/bin/sh" && argv[1] === "-c";
  const started = await background.start(call, {
    argv,
    folder: cwd,
    environment: { ...environment },
    timeLimitMs: Math.min(seconds, background.maxSeconds) * 1000,
    shown: shell ? (argv[2] ?? "") : argv.join(" "),
  });
  if (started.status === "refused") return failed(started.words);
  return ok(
    `It was started as ${started.id} and goes on by itself. Its end is told in this session; processes reads its output or stops it.`,
  );
}

function resultOf(program: string, end: CommandEnd): ToolResult {
  const { output } = end;
  const failedWith = (words: string): ToolResult =>
    failed(output === "" ? words : `${output}\n${words}`);
  switch (end.kind) {
    case "exited":
      return end.code === 0
        ? { outcome: "ok", output }
        : failedWith(`It ended with exit code ${end.code}.`);
    case "killed":
      return failedWith(`It was ended by ${end.signal}.`);
    case "stopped":
      return end.why === "cancelled"
        ? { outcome: "cancelled", output }
        : failedWith("It took too long and was stopped.");
    case "not_started":
      return failedWith(`${program} could not be started (${end.code}).`);
  }
}
