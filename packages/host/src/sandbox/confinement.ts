import { mkdir, mkdtemp, writeFile } from "node:fs/promises";
import { totalmem, tmpdir } from "node:os";
import { dirname, join } from "node:path";

import { findBwrap } from "./bwrap.ts";
import { findFix } from "./find-fix.ts";
import { readGitIdentity } from "./git-identity.ts";
import { innerEnvironment } from "./inner-script.ts";
import { type MemoryGroups, openMemoryGroups } from "./memory-groups.ts";
import { type FoundAdapter, findNamespaces, limitsPids } from "./namespaces.ts";
import type { NetworkGrant } from "./network/open-network.ts";
import { runCommand } from "./run-command.ts";
import type { Limits, PlainCommand, Plan, Profile, Sandbox, SandboxKind } from "./sandbox.ts";
import { insideFolder } from "./sandbox.ts";
import { findSeatbelt } from "./seatbelt.ts";
import { type BaseView, homeFolderOf, planMounts, readBaseView } from "./visible-folders.ts";

export type SandboxMode = "required" | "preferred" | "off";

export interface ConfinementSettings {
  readonly mode: SandboxMode;
  readonly home: string;
  /** Further folders that every confined process may read. */
  readonly folders: readonly string[];
  readonly processes: number;
  /** 0: half of the machine's. */
  readonly memoryMegabytes: number;
  readonly fileMegabytes: number;
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** Hosts beyond the public internet that may be granted. */
  readonly egressAllow: readonly string[];
}

/** What confines processes on this host, found out by one trial. */
export interface SandboxState {
  readonly mode: SandboxMode;
  readonly kind: SandboxKind;
  /** Why there is none. */
  readonly reason: string | null;
  /** What an operator can do about it. */
  readonly fix: string | null;
  /** What bounds the number of processes. */
  readonly processLimit: "namespace" | "rlimit" | "none";
  /** Whether the limit is for a command with all that it starts, or for each process. */
  readonly memoryLimit: "group" | "process";
}

/** What confines one command, for the person who is asked. */
export interface SandboxNote {
  readonly kind: SandboxKind;
  readonly words: string;
}

export type Confined =
  | { readonly ok: true; readonly command: PlainCommand; readonly network: NetworkGrant | null }
  | {
      readonly ok: false;
      readonly code: "sandbox_required" | "sandbox_network";
      readonly message: string;
    };

/** Every process that works for an agent is started through this. */
export interface Confinement {
  state(): Promise<SandboxState>;
  describe(profile: Profile): Promise<SandboxNote>;
  confine(command: PlainCommand, profile: Profile): Promise<Confined>;
  /** For what an operator has exempted by name; refused where a sandbox is required. */
  leaveOpen(command: PlainCommand): Promise<Confined>;
}

interface Opened {
  readonly state: SandboxState;
  readonly sandbox: Sandbox | null;
  readonly view: BaseView | null;
  readonly gitConfig: string;
  readonly memoryGroups: MemoryGroups | null;
}

const offReason = "the setting sandbox is off";

export function openConfinement(settings: ConfinementSettings): Confinement {
  let opened: Promise<Opened> | undefined;
  const open = (): Promise<Opened> => (opened ??= openOnce(settings));

  const planFor = (
    { view, gitConfig }: Opened & { readonly view: BaseView },
    profile: Profile,
    network: NetworkGrant | null,
  ): Plan => {
    const relayFolders = network === null ? [] : [dirname(process.execPath)];
    const readable = [...(profile.readable ?? []), ...relayFolders];
    const mounts = planMounts(view, { ...profile, readable });
    const isHomePrivate = mounts.some(
      ({ kind, path }) => path === view.personHome && kind === "private",
    );
    return {
      mounts:
        network === null
          ? mounts
          : [...mounts, { kind: "read", path: insideFolder, from: network.socketFolder }],
      rootLinks: view.rootLinks,
      network: profile.network,
      relay: network && { socketFolder: network.socketFolder, publish: network.publish ?? null },
      gitConfig: isHomePrivate ? gitConfig : "",
      limits: limitsOf(settings),
    };
  };

  return {
    state: async () => (await open()).state,
    async describe(profile) {
      const { state } = await open();
      return { kind: state.kind, words: describeFor(state, profile) };
    },
    async leaveOpen(command) {
      if (settings.mode !== "required") return { ok: true, command, network: null };
      const message =
        "sandbox_required: nothing runs outside a sandbox on this host. Remove sandbox: off from its settings.";
      return { ok: false, code: "sandbox_required", message };
    },
    async confine(command, profile) {
      const found = await open();
      const { state, sandbox, view, memoryGroups } = found;
      if (sandbox === null || view === null) {
        if (state.mode !== "required") return { ok: true, command, network: null };
        return { ok: false, code: "sandbox_required", message: requiredText(state) };
      }
      const needsRelay = typeof profile.network !== "string" || profile.publish !== undefined;
      if (needsRelay && sandbox.kind === "sandbox-exec")
        return {
          ok: false,
          code: "sandbox_network",
          message: "On macOS a confined command cannot be given hosts or a port.",
        };
      if (profile.homeName !== undefined)
        await mkdir(homeFolderOf(view.holdfastHome, profile.homeName), {
          recursive: true,
          mode: 0o700,
        });
      const network = needsRelay ? await grantFor(profile, settings) : null;
      const plan = planFor({ ...found, view }, profile, network);
      const { folder = command.folder } = profile;
      const environment = innerEnvironment(command, plan, view.personHome);
      const confined = sandbox.confine({ ...command, folder, environment }, plan);
      const { memoryMegabytes } = plan.limits;
      return {
        ok: true,
        command: memoryGroups?.limit(confined, memoryMegabytes) ?? confined,
        network,
      };
    },
  };
}

function limitsOf({ processes, memoryMegabytes, fileMegabytes }: ConfinementSettings): Limits {
  const half = Math.max(1_024, Math.floor(totalmem() / 2 / 1024 / 1024));
  return {
    processes,
    memoryMegabytes: memoryMegabytes === 0 ? half : memoryMegabytes,
    fileMegabytes,
  };
}

/** The path of a socket has about a hundred bytes at most. */
const longestParent = 70;

async function grantFor(profile: Profile, settings: ConfinementSettings): Promise<NetworkGrant> {
  const hosts = typeof profile.network === "string" ? [] : [...profile.network.hosts];
  const parent = tmpdir().length > longestParent ? "/tmp" : tmpdir();
  const socketFolder = await mkdtemp(join(parent, "hf-"));
  return {
    socketFolder,
    hosts,
    allow: [...settings.egressAllow],
    ...(profile.publish !== undefined && { publish: profile.publish }),
  };
}

function requiredText({ reason, fix }: SandboxState): string {
  return `sandbox_required: nothing runs outside a sandbox on this host, and no sandbox works here: ${reason ?? "unknown"}. ${fix ?? ""}`.trim();
}

function describeFor(state: SandboxState, { network, publish }: Profile): string {
  if (state.kind === "none")
    return state.mode === "required"
      ? `Will not run: a sandbox is required, and none works on this machine (${state.reason}).`
      : `Not in a sandbox (${state.reason}): it can do whatever the host's user can.`;
  const reach =
    network === "none"
      ? "no network"
      : network === "host"
        ? "the host's whole network"
        : `the network only to ${network.hosts.join(", ")}`;
  const port = publish === undefined ? "" : `; people on this machine can open its port ${publish}`;
  return `In a sandbox (${state.kind}): it can change only the workspace, sees no keys, and has ${reach}${port}.`;
}

async function openOnce(settings: ConfinementSettings): Promise<Opened> {
  const { mode, home } = settings;
  const none = (reason: string, fix: string | null): Opened => ({
    state: { mode, kind: "none", reason, fix, processLimit: "none", memoryLimit: "process" },
    sandbox: null,
    view: null,
    gitConfig: "",
    memoryGroups: null,
  });
  if (mode === "off") return none(offReason, "Set sandbox to preferred or required.");
  try {
    const folder = join(home, "sandbox");
    const base = join(folder, "root");
    await mkdir(base, { recursive: true, mode: 0o700 });
    const view = await readBaseView({
      holdfastHome: home,
      environment: settings.environment,
      folders: settings.folders,
    });
    const refusals: string[] = [];
    for (const found of findAdapters(base)) {
      const refusal = found.ok ? await tryOut(found.sandbox, view, folder, settings) : found.reason;
      if (found.ok && refusal === null) {
        const memoryGroups = await tryMemoryGroups();
        return {
          state: {
            mode,
            kind: found.sandbox.kind,
            reason: null,
            fix: null,
            processLimit: processLimit(),
            memoryLimit: memoryGroups === null ? "process" : "group",
          },
          sandbox: found.sandbox,
          view,
          gitConfig: await readGitIdentity(settings.environment),
          memoryGroups,
        };
      }
      refusals.push(refusal ?? "unknown");
    }
    return none(refusals.join("; "), findFix());
  } catch (error) {
    return none(error instanceof Error ? error.message : String(error), findFix());
  }
}

/** Root of the machine is exempt from the limit for each user. */
function processLimit(): SandboxState["processLimit"] {
  if (limitsPids()) return "namespace";
  return process.getuid?.() === 0 ? "none" : "rlimit";
}

function findAdapters(base: string): readonly FoundAdapter[] {
  switch (process.platform) {
    case "linux":
      return [findBwrap(), findNamespaces({ base })];
    case "darwin":
      return [findSeatbelt(base)];
    default:
      return [{ ok: false, reason: `there is no sandbox for ${process.platform}` }];
  }
}

/** `null` where groups cannot be made, or not be joined. */
async function tryMemoryGroups(): Promise<MemoryGroups | null> {
  try {
    const groups = process.platform === "linux" ? openMemoryGroups() : null;
    if (groups === null) return null;
    const plain: PlainCommand = { argv: ["/bin/sh", "-c", ":"], folder: "/", environment: {} };
    const limited = groups.limit(plain, trialMegabytes);
    if (limited === null) return null;
    const end = await runCommand({
      ...limited,
      timeLimitMs: trialMs,
      signal: new AbortController().signal,
    });
    return end.kind === "exited" && end.code === 0 ? groups : null;
  } catch {
    return null;
  }
}

const trialMegabytes = 64;
const trialMs = 10_000;
const trialScript = 'test ! -e "$1" && : > seen && test ! -w /usr && echo held';

/** Why it does not hold, or `null`. */
async function tryOut(
  sandbox: Sandbox,
  view: BaseView,
  folder: string,
  settings: ConfinementSettings,
): Promise<string | null> {
  const trial = join(folder, "trial");
  const hidden = join(folder, "hidden");
  await mkdir(trial, { recursive: true, mode: 0o700 });
  await writeFile(hidden, "", { mode: 0o600 });
  const profile: Profile = { writable: [trial], network: "none" };
  const plan: Plan = {
    mounts: planMounts(view, profile),
    rootLinks: view.rootLinks,
    network: "none",
    relay: null,
    gitConfig: "",
    limits: limitsOf(settings),
  };
  const argv = ["/bin/sh", "-c", trialScript, "sh", hidden] as const;
  const plain: PlainCommand = { argv, folder: trial, environment: { PATH: "/usr/bin:/bin" } };
  const end = await runCommand({
    ...sandbox.confine(plain, plan),
    timeLimitMs: trialMs,
    keep: 2_000,
    signal: new AbortController().signal,
  });
  if (end.kind === "exited" && end.output.trim() === "held") return null;
  const said = end.output.trim().split("\n").slice(0, 3).join(" ");
  return `${sandbox.kind} does not work: ${said === "" ? end.kind : said}`;
}
