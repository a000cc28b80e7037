import { rm } from "node:fs/promises";

import type { Tool, ToolCall, ToolResult } from "@holdfast/engine";
import { z } from "zod";

import type { Confined, Confinement } from "../../sandbox/confinement.ts";
import type { NetworkGrant } from "../../sandbox/network/open-network.ts";
import { type CommandEnd, runCommand } from "../../sandbox/run-command.ts";
import type { PlainCommand, Profile } from "../../sandbox/sandbox.ts";
import { hostName } from "../policy/rule.ts";
import { taintOfHosts } from "../policy/trusted-hosts.ts";
import { savingCommand } from "../snapshots/save-changes.ts";
import { defineTool, failed, ok } from "./define-tool.ts";
import type { Workspaces } from "../workspace/workspaces.ts";
import { type FileToolDeps, openWorkspace } from "./file-tool.ts";

type Argv = [string, ...string[]];
type Environment = Readonly<Record<string, string>>;

/** Starts commands that outlive their call. */
export interface BackgroundRunner {
  /** How long one may run. */
  readonly maxSeconds: number;
  start(
    call: ToolCall,
    command: PlainCommand & {
      readonly timeLimitMs: number;
      readonly shown: string;
      readonly network?: NetworkGrant;
    },
  ): Promise<
    | { readonly status: "started"; readonly id: string }
    | { readonly status: "refused"; readonly words: string }
  >;
}

export interface TerminalDeps extends FileToolDeps {
  readonly workspaces: Pick<Workspaces, "folderFor" | "placeFor" | "sharedGit">;
  readonly environment: Environment;
  readonly confinement: Confinement;
  readonly background?: BackgroundRunner;
  /** What comes from these is not a stranger's text. */
  readonly trustedHosts?: readonly string[];
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
  .describe("A list: program and arguments; or a string for the shell.");
const folder = z
  .string()
  .max(4_096)
  .optional()
  .describe("Where to run it; default: the workspace.");
const maxHosts = 20;
const hosts = z
  // The pattern would cost every request of the model more tokens than the sentence.
  .array(
    z
      .string()
      .max(253)
      .refine((name) => hostName.test(name), "Not the name of a host."),
  )
  .min(1)
  .max(maxHosts)
  .optional()
  .describe(
    "The hosts it has to reach, like registry.npmjs.org or *.example.org; none by default.",
  );
const defaultSeconds = defaultTimeLimitMs / 1000;
const maxSeconds = maxTimeLimitMs / 1000;
const defaultBackgroundSeconds = 3_600;

function terminalInput(background: BackgroundRunner | undefined) {
  const seconds = z.int().min(1);
  const short = seconds
    .max(maxSeconds)
    .optional()
    .describe(`Time limit; default ${defaultSeconds}.`);
  const base = z.strictObject({ command, folder, seconds: short, hosts });
  if (background === undefined) return base;
  const maxBackgroundSeconds = background.maxSeconds;
  const long = seconds
    .max(Math.max(maxBackgroundSeconds, maxSeconds))
    .optional()
    .describe(
      `Time limit; default ${defaultSeconds}, at most ${maxSeconds}. In the background: ${Math.min(defaultBackgroundSeconds, maxBackgroundSeconds)}, at most ${maxBackgroundSeconds}.`,
    );
  return base.extend({
    seconds: long,
    background: z
      .literal(true)
      .optional()
      .describe(
        "Keeps running after this turn; you are told when it ends. For servers and slow commands.",
      ),
    publish: z
      .int()
      .min(1_024)
      .max(65_535)
      .optional()
      .describe("A port of the background command that people can open."),
  });
}

const profileInput = z.looseObject({
  hosts: z.array(z.string()).optional(),
  publish: z.int().optional(),
});

/** What a command may change and reach, by its arguments: shown to the person who is asked, and then applied. */
export function terminalProfile(
  workspace: string,
  input: unknown,
  sharedGit: string | null = null,
): Profile {
  const { hosts: named = [], publish } = profileInput.safeParse(input).data ?? {};
  return {
    writable: [workspace, ...(sharedGit === null ? [] : [sharedGit])],
    network: named.length === 0 ? "none" : { hosts: named },
    ...(publish !== undefined && { publish }),
  };
}

/**
 * Runs a command in the session's workspace. A list runs as is; a text goes to a shell. Both require approval: a list
 * may name a shell as its program.
 */
export function createTerminal(deps: TerminalDeps): Tool {
  return defineTool({
    name: "terminal",
    description:
      "Runs a command in the workspace and returns its output. Prefer a list (program and arguments); a string goes to a shell. It can change the workspace and its own /tmp, which is deleted afterwards.",
    input: terminalInput(deps.background),
    replay: "never",
    timeLimitMs: maxTimeLimitMs + 10_000,
    asks: "ask",
    // What it prints may come from there.
    taint: ({ hosts: granted = [] }) => taintOfHosts(granted, deps.trustedHosts),
    place: (call) => deps.workspaces.placeFor(call),
    async snapshot(call, signal) {
      const { snapshots } = deps;
      if (snapshots === undefined) return undefined;
      const { root } = await openWorkspace(deps, call);
      await snapshots.keepFor(snapshots.workspaceOf(root), call);
      return snapshots.take(root, signal);
    },
    async run(input, call, { signal, write }) {
      const jail = await openWorkspace(deps, call);
      const found = await jail.folder(input.folder ?? ".");
      if (!found.ok) return failed(found.refusal.message);
      const { seconds } = input;
      const argv: Argv =
        typeof input.command === "string" ? ["/bin/sh", "-c", input.command] : input.command;
      const plain = { argv, folder: found.value, environment: deps.environment };
      const profile = terminalProfile(jail.root, input, await deps.workspaces.sharedGit(jail.root));
      if ("background" in input && input.background === true)
        return startInBackground(deps, call, { plain, profile, seconds });
      if (profile.publish !== undefined)
        return failed("Only a background command can publish a port.");
      if (seconds !== undefined && seconds > maxSeconds)
        return failed(`It may take ${maxSeconds} seconds at most, or run in the background.`);
      const confined = await confine(deps, call, plain, profile);
      if (!confined.ok) return notConfined(confined);
      return savingCommand(deps.snapshots, { call, jail }, signal, async () => {
        const end = await runCommand({
          ...confined.command,
          network: confined.network,
          timeLimitMs: seconds === undefined ? defaultTimeLimitMs : seconds * 1000,
          signal,
          onOutput: write,
        });
        return resultOf(argv[0], end);
      });
    },
  });
}

/** A command that was allowed for its sandbox's sake runs in one or not at all. */
async function confine(
  { confinement }: TerminalDeps,
  { confined }: ToolCall,
  plain: PlainCommand,
  profile: Profile,
): Promise<Confined> {
  if (confined === true && (await confinement.state()).kind === "none") {
    const message =
      "sandbox_required: it was allowed in a sandbox alone, and no sandbox works here.";
    return { ok: false, code: "sandbox_required", message };
  }
  return confinement.confine(plain, profile);
}

function notConfined({ code, message }: Extract<Confined, { ok: false }>): ToolResult {
  return { ...failed(message), details: { refusal: code } };
}

interface BackgroundRequest {
  readonly plain: PlainCommand;
  readonly profile: Profile;
  readonly seconds: number | undefined;
}

async function startInBackground(
  deps: TerminalDeps,
  call: ToolCall,
  { plain, profile, seconds = defaultBackgroundSeconds }: BackgroundRequest,
): Promise<ToolResult> {
  const { background } = deps;
  if (background === undefined) return failed("Nothing runs in the background here.");
  const { argv } = plain;
  const confined = await confine(deps, call, plain, profile);
  if (!confined.ok) return notConfined(confined);
  const shell = argv[0] === "/bin/sh" && argv[1] === "-c";
  const started = await background.start(call, {
    ...confined.command,
    ...(confined.network !== null && { network: confined.network }),
    timeLimitMs: Math.min(seconds, background.maxSeconds) * 1000,
    shown: shell ? (argv[2] ?? "") : argv.join(" "),
  });
  if (started.status === "refused") {
    if (confined.network !== null)
      await rm(confined.network.socketFolder, { recursive: true, force: true });
    return failed(started.words);
  }
  const port =
    profile.publish === undefined
      ? ""
      : ` People can open its port at http://127.0.0.1:${profile.publish}/.`;
  return ok(
    `It was started as ${started.id} and keeps running by itself. This session is told when it ends; the tool processes reads its output or stops it.${port}`,
  );
}

function resultOf(program: string, end: CommandEnd): ToolResult {
  const result = outcomeOf(program, end);
  const { reached = [] } = end;
  return reached.length === 0
    ? result
    : { ...result, details: { reached: reached.map((host) => ({ ...host })) } };
}

function outcomeOf(program: string, end: CommandEnd): ToolResult {
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
