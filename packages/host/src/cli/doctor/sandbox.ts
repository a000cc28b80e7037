import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { dirname, join } from "node:path";

import { defaultMode, modeWords } from "@holdfast/protocol";
import { networkOf } from "../../agent/mcp/server-profile.ts";
import { confinementFor } from "../../agent/toolset.ts";
import type { Config } from "../../ops/config/settings.ts";
import { type Confinement, openConfinement, type SandboxState } from "../../sandbox/confinement.ts";
import { tryEscapes } from "../../sandbox/escapes/try-escapes.ts";
import { allowedEnvironment, runCommand } from "../../sandbox/run-command.ts";
import { doctorStrings } from "../strings/doctor.ts";
import { errorFinding, warningFinding, type DoctorFinding, okFinding } from "./finding.ts";

const { checks, sandbox: texts } = doctorStrings;
const what = checks.sandbox;

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
    return okFinding(what, texts.confined(kind, mode) + describeMemoryLimit(state));
  const mend = fix ?? texts.mend;
  if (mode === "off") return warningFinding(what, texts.off, mend);
  const words = texts.none(reason ?? texts.unknownReason);
  return mode === "required"
    ? errorFinding(what, texts.nothingRuns(words), mend)
    : warningFinding(what, texts.unconfined(words), mend);
}

function describeMemoryLimit({ kind, memoryLimit }: SandboxState): string {
  if (kind === "sandbox-exec") return "";
  return memoryLimit === "group" ? texts.memoryPerCommand : texts.memoryPerProcess;
}

function limitFindings({ kind, processLimit }: SandboxState): DoctorFinding[] {
  if (kind === "none" || kind === "sandbox-exec" || processLimit !== "none") return [];
  return [warningFinding(what, texts.processes, texts.processesMend)];
}

/** What new sessions may do without asking, where that is not what is usual. */
export function modeFindings(
  { sessionMode }: Pick<Config, "sessionMode">,
  { kind }: Pick<SandboxState, "kind">,
): DoctorFinding[] {
  const mode = sessionMode.value;
  if (mode === defaultMode) return [];
  const words = texts.mode(mode, modeWords[mode].help);
  return mode === "full" && kind === "none"
    ? [warningFinding(checks.mode, texts.fullUnconfined, texts.fullUnconfinedMend)]
    : [okFinding(checks.mode, words)];
}

function serverFindings({ mcp, sandbox }: Config): DoctorFinding[] {
  return Object.entries(mcp.value).flatMap(([name, server]) => {
    if ("url" in server) return [];
    const about = checks.mcpServer(name);
    if (server.sandbox === "off")
      return [
        sandbox.value === "required"
          ? errorFinding(about, texts.exemptRequired, texts.exemptMend(name))
          : warningFinding(about, texts.exempt, texts.exemptMend(name)),
      ];
    if (networkOf(server) !== "host") return [];
    return [warningFinding(about, texts.network, texts.networkMend(name))];
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
    return [{ ...finding, state: "bad", words: texts.nothingTried(finding.words) }];
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
    const total = texts.total(held, results.length, state.kind);
    return [
      ...results.map(({ id, words, outcome }) => {
        if (outcome === "held") return okFinding(checks.held, texts.held(id, words));
        return outcome === "untried"
          ? warningFinding(checks.notTried, texts.untried(id, words), texts.escapeMend)
          : errorFinding(checks.escaped, texts.escaped(id, words), texts.escapeMend);
      }),
      held === results.length
        ? okFinding(what, total)
        : errorFinding(what, total, doctorStrings.mcp.seeAbove),
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
