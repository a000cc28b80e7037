import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { dirname, join } from "node:path";

import { defaultMode, modeWords } from "@holdfast/protocol";
import { networkOf } from "../../agent/mcp/server-profile.ts";
import { confinementFor } from "../../agent/toolset.ts";
import type { Config } from "../../ops/config/settings.ts";
import { type Confinement, openConfinement, type SandboxState } from "../../sandbox/confinement.ts";
import { tryEscapes } from "../../sandbox/escapes/try-escapes.ts";
import { allowedEnvironment, runCommand } from "../../sandbox/run-command.ts";
import { errorFinding, warningFinding, type DoctorFinding, okFinding } from "./finding.ts";

const what = "Sandbox";

/** Whether the processes of tools are confined, and which servers keep more than they may need. */
export async function checkSandbox(config: Config): Promise<DoctorFinding[]> {
  const state = await confinementFor(config).state();
  return [
    sandboxFinding(state),
    ...limitFindings(state),
    ...modeFindings(config, state),
    ...(state.kind === "none" ? [] : serverFindings(config)),
  ];
}

function sandboxFinding(state: SandboxState): DoctorFinding {
  const { mode, kind, reason, fix } = state;
  if (kind !== "none")
    return okFinding(
      what,
      `commands and MCP servers are confined (${kind}), ${mode}${describeMemoryLimit(state)}`,
    );
  const mend = fix ?? "docs/security.md says what a sandbox needs.";
  if (mode === "off")
    return warningFinding(what, "off: every command can do what this user can", mend);
  const words = `no sandbox works here: ${reason ?? "unknown"}`;
  return mode === "required"
    ? errorFinding(what, `${words}; nothing will run`, mend)
    : warningFinding(what, `${words}; commands run unconfined`, mend);
}

function describeMemoryLimit({ kind, memoryLimit }: SandboxState): string {
  if (kind === "sandbox-exec") return "";
  return `; memory is limited for each ${memoryLimit === "group" ? "command" : "process"}`;
}

function limitFindings({ kind, processLimit }: SandboxState): DoctorFinding[] {
  if (kind === "none" || kind === "sandbox-exec" || processLimit !== "none") return [];
  const words = "the number of processes is not limited: this host runs as root";
  return [warningFinding(what, words, "Run it as another user, or on Linux 6.14 or newer.")];
}

/** What new sessions may do without asking, where that is not what is usual. */
export function modeFindings(
  { sessionMode }: Pick<Config, "sessionMode">,
  { kind }: Pick<SandboxState, "kind">,
): DoctorFinding[] {
  const mode = sessionMode.value;
  if (mode === defaultMode) return [];
  const words = `new sessions begin in ${mode} mode. ${modeWords[mode].help}`;
  return mode === "full" && kind === "none"
    ? [
        warningFinding(
          "Mode",
          "new sessions begin in full mode, but nothing confines commands, so they still ask",
          "Set sessionMode to ask or edits, or make a sandbox work.",
        ),
      ]
    : [okFinding("Mode", words)];
}

function serverFindings({ mcp, sandbox }: Config): DoctorFinding[] {
  return Object.entries(mcp.value).flatMap(([name, server]) => {
    if ("url" in server) return [];
    const about = `MCP ${name}`;
    if (server.sandbox === "off")
      return [
        sandbox.value === "required"
          ? errorFinding(
              about,
              "it is exempt from the sandbox, which is required",
              `Remove mcp.${name}.sandbox.`,
            )
          : warningFinding(about, "it is exempt from the sandbox", `Remove mcp.${name}.sandbox.`),
      ];
    if (networkOf(server) !== "host") return [];
    const mend = `Set mcp.${name}.sandbox.network to "none", or to a list of host names.`;
    return [warningFinding(about, "confined, and has the host's whole network", mend)];
  });
}

const trialLimits = { processes: 400, memoryMegabytes: 700, fileMegabytes: 64 };
const beyondLimits = { processes: 700, memoryMegabytes: 1_024, fileMegabytes: 128 };
const timeLimitMs = 60_000;

/** Tries to get out, and says what held. Nothing is tried where nothing is confined: it would succeed. */
export async function checkEscapes(
  config: Config,
  environment: Readonly<Record<string, string | undefined>>,
): Promise<DoctorFinding[]> {
  const home = config.home.value;
  const confinement = openConfinement({
    mode: config.sandbox.value,
    home,
    folders: config.sandboxFolders.value,
    ...trialLimits,
    environment,
    egressAllow: [],
  });
  const state = await confinement.state();
  const personHome = environment["HOME"];
  if (state.kind === "none" || personHome === undefined) {
    const finding = sandboxFinding(state);
    return [{ ...finding, state: "bad", words: `no escape was attempted: ${finding.words}` }];
  }
  await mkdir(join(home, "workspaces"), { recursive: true, mode: 0o700 });
  const workspace = await mkdtemp(join(home, "workspaces", "escape-"));
  try {
    const results = await tryEscapes({
      home,
      personHome,
      workspace,
      path: environment["PATH"] ?? "",
      beyond: beyondLimits,
      run: (argv) => runConfined(confinement, workspace, environment, argv),
    });
    const held = results.filter(({ outcome }) => outcome === "held").length;
    const total = `${held} of ${results.length} held (${state.kind})`;
    return [
      ...results.map(({ id, words, outcome }) => {
        if (outcome === "held") return okFinding(`held`, `${id}: a command cannot ${words}`);
        const mend =
          "Set sandbox to required only where all hold, and report this: see SECURITY.md.";
        return outcome === "untried"
          ? warningFinding("not tried", `${id}: a command could not try to ${words}`, mend)
          : errorFinding("ESCAPED", `${id}: a command can ${words}`, mend);
      }),
      held === results.length ? okFinding(what, total) : errorFinding(what, total, "See above."),
    ];
  } finally {
    await rm(workspace, { recursive: true, force: true });
  }
}

async function runConfined(
  confinement: Confinement,
  workspace: string,
  environment: Readonly<Record<string, string | undefined>>,
  argv: readonly [string, ...string[]],
): Promise<string> {
  const plain = { argv, folder: workspace, environment: allowedEnvironment(environment) };
  const confined = await confinement.confine(plain, {
    writable: [workspace],
    readable: [dirname(process.execPath)],
    network: "none",
  });
  if (!confined.ok) return confined.message;
  const { signal } = new AbortController();
  return (await runCommand({ ...confined.command, timeLimitMs, signal })).output;
}
