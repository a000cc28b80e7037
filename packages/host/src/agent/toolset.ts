import { join, resolve } from "node:path";

import { type Store, type Tool, systemClock } from "@holdfast/engine";
import { createEgress } from "../util/egress/egress.ts";
import { type FactStore, openFactStore } from "./memory/fact-store.ts";
import { createApplyPatch } from "./tools/apply-patch.ts";
import { createAskUser } from "./tools/ask-user.ts";
import { createEditFile } from "./tools/edit-file.ts";
import { gitEnvironment } from "../util/git-environment.ts";
import { allowedEnvironment } from "../sandbox/run-command.ts";
import { type Confinement, openConfinement } from "../sandbox/confinement.ts";
import { createFetchUrl } from "./tools/fetch-url.ts";
import { createFetchedPages } from "./tools/fetched-pages.ts";
import type { FileSnapshots } from "./snapshots/file-snapshots.ts";
import { LocalFileSnapshots } from "./snapshots/local-snapshots.ts";
import { findProgram } from "../sandbox/find-program.ts";
import { createFileSearch } from "./tools/file-search.ts";
import { createGlob, createListFiles } from "./tools/find-files.ts";
import { createGrep } from "./tools/grep.ts";
import { createPdfReader, type PdfReader } from "./documents/pdf-reader.ts";
import { createReadFile } from "./tools/read-file.ts";
import { createRemember } from "./tools/remember.ts";
import { createSearchSessions } from "./tools/search-sessions.ts";
import { createSendFile } from "./tools/send-file.ts";
import { type BackgroundRunner, createTerminal, terminalProfile } from "./tools/terminal.ts";
import { createSubmitPlan } from "./tools/submit-plan.ts";
import { createTodo } from "./tools/todo.ts";
import { openWorkspaces, type Workspaces } from "./workspace/workspaces.ts";
import { openWorktrees, type Worktrees } from "./worktrees/worktrees.ts";
import { createWriteFile } from "./tools/write-file.ts";
import { createLiveness } from "@holdfast/store/identity";
import type { WorkspaceHosts } from "../hosts/workspace-hosts.ts";
import type { Config } from "../ops/config/settings.ts";
import { unreadablePatterns } from "./policy/match-rules.ts";
import { grantedHosts } from "./policy/trusted-hosts.ts";
import { createPolicy, type HostPolicy } from "./policy/policy.ts";
import { parseToolRule } from "./policy/rule.ts";
import { conversationStart } from "./policy/conversation-start.ts";
import { openStoredRules, type StoredRules } from "./policy/stored-rules.ts";
import { createProcessesTool } from "../automation/processes/processes-tool.ts";
import { ProcessManager } from "../automation/processes/process-manager.ts";

export { type Workspaces };

export interface BuiltInToolDeps {
  readonly home: string;
  readonly store: Store;
  readonly facts?: FactStore;
  readonly workspaces: Workspaces;
  readonly pdfs?: PdfReader;
  /** `host` or `host:port` beyond the public internet that may be fetched. */
  readonly egressAllow: readonly string[];
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** Patterns of paths that searches leave out. */
  readonly unreadable?: readonly string[];
  readonly confinement: Confinement;
  /** Without it every command ends with its call. */
  readonly background?: BackgroundRunner;
  readonly trustedHosts?: readonly string[];
  /** Without it files that tools change are not saved. */
  readonly snapshots?: FileSnapshots;
}

/** The tools that every session has, by name, always in one order: they are part of how a context begins. */
export function createBuiltInTools(parts: BuiltInToolDeps): ReadonlyMap<string, Tool> {
  const { home, store, workspaces, egressAllow } = parts;
  const { facts = openFactStore({ register: store.register, home }) } = parts;
  const { snapshots } = parts;
  const files = { workspaces, snapshots };
  const { pdfs = createPdfReader() } = parts;
  const searched = {
    workspaces,
    search: createFileSearch(),
    get unreadable() {
      return parts.unreadable ?? [];
    },
  };
  const tools = [
    createTerminal({
      ...files,
      environment: { ...allowedEnvironment(parts.environment), ...gitEnvironment },
      confinement: parts.confinement,
      ...(parts.background && { background: parts.background }),
      get trustedHosts() {
        return parts.trustedHosts ?? [];
      },
    }),
    createReadFile({ workspaces, pdfs }),
    createWriteFile(files),
    createEditFile(files),
    createApplyPatch(files),
    createListFiles(searched),
    createGlob(searched),
    createGrep(searched),
    createFetchUrl({
      egress: createEgress({ allow: egressAllow }),
      pdfs,
      pages: createFetchedPages(Date.now),
    }),
    createTodo(store.reads),
    createRemember(facts),
    createSearchSessions(store),
    createAskUser(),
    createSendFile({ workspaces, store }),
    createSubmitPlan(),
  ];
  return new Map(tools.map((tool) => [tool.name, tool]));
}

/** The host that runs the first of them has the session's files. One that only asked for an approval has not. */
function claimBeforeRun(
  tools: ReadonlyMap<string, Tool>,
  workspaces: Pick<Workspaces, "claim">,
): ReadonlyMap<string, Tool> {
  const claiming = (tool: Tool): Tool => ({
    ...tool,
    async run(call, context) {
      await workspaces.claim(call);
      return tool.run(call, context);
    },
  });
  return new Map(
    [...tools].map(([name, tool]) => [name, tool.place === undefined ? tool : claiming(tool)]),
  );
}

/** What an agent can do here, where, and who has to be asked. */
export interface Toolset {
  readonly tools: ReadonlyMap<string, Tool>;
  readonly workspaces: Workspaces;
  readonly worktrees: Worktrees;
  readonly policy: HostPolicy;
  /** What people have allowed for good. */
  readonly rules: StoredRules;
  /** Work that continues after its turn has ended. */
  readonly processes: ProcessManager;
  readonly confinement: Confinement;
  /** What is known about each owner. */
  readonly facts: FactStore;
  readonly pdfs: PdfReader;
  /** What files were before tools changed them. */
  readonly snapshots: FileSnapshots;
}

const bytesPerMegabyte = 1024 * 1024;

export type ToolsetConfig = Pick<
  Config,
  | "home"
  | "toolPolicy"
  | "toolRules"
  | "workspaceRoots"
  | "sharedRoots"
  | "egressAllow"
  | "sandbox"
  | "sandboxFolders"
  | "sandboxProcesses"
  | "sandboxMemory"
  | "sandboxFileSize"
  | "snapshotSize"
  | "processesPerSession"
  | "processHours"
>;

/** The host's processes, confined as the settings say. */
export function confinementFor(config: ToolsetConfig): Confinement {
  return openConfinement({
    mode: config.sandbox.value,
    home: config.home.value,
    folders: config.sandboxFolders.value,
    processes: config.sandboxProcesses.value,
    memoryMegabytes: config.sandboxMemory.value,
    fileMegabytes: config.sandboxFileSize.value,
    environment: process.env,
    egressAllow: config.egressAllow.value,
  });
}

/** The person who is asked also sees what confines the command, and the log has it for every decision. */
function withSandboxNote(
  policy: HostPolicy,
  confinement: Confinement,
  workspaces: Pick<Workspaces, "sharedGit">,
): HostPolicy {
  const confines: HostPolicy["confines"] = async ({ name, place = "", input }) => {
    if (name !== "terminal") return null;
    const profile = terminalProfile(place, input, await workspaces.sharedGit(place));
    return { ...(await confinement.describe(profile)) };
  };
  return {
    ...policy,
    confines,
    async describe(question) {
      const described = await policy.describe(question);
      const sandbox = await confines(question);
      return sandbox === null ? described : { ...described, sandbox };
    },
  };
}

export function createToolset(
  config: ToolsetConfig,
  store: Store,
  confinement: Confinement = confinementFor(config),
  hosts?: WorkspaceHosts,
): Toolset {
  const { toolPolicy, toolRules, workspaceRoots, egressAllow } = config;
  const home = config.home.value;
  const sharedRoots = config.sharedRoots.value.map((root) => resolve(root));
  const places = { home, roots: workspaceRoots.value, sharedRoots, ...(hosts && { hosts }) };
  const workspaces = openWorkspaces(places, store);
  const facts = openFactStore({ register: store.register, home });
  const pdfs = createPdfReader();
  const snapshots = new LocalFileSnapshots({
    folder: join(home, "snapshots"),
    git: findProgram("git"),
    mostBytes: config.snapshotSize.value * bytesPerMegabyte,
  });
  const rules = openStoredRules(store.register);
  const policy = createPolicy({
    get mode() {
      return toolPolicy.value;
    },
    get rules() {
      return toolRules.value;
    },
    storedRules: rules,
    begunAt: conversationStart(store.reads),
    isConfined: async () => (await confinement.state()).kind !== "none",
  });
  const limits = {
    perSession: config.processesPerSession.value,
    hours: config.processHours.value,
  };
  const processes = new ProcessManager({
    home,
    store,
    clock: systemClock,
    liveness: createLiveness(),
    limits,
  });
  const background = {
    maxSeconds: limits.hours * 3_600,
    start: processes.start.bind(processes),
  };
  const operatorRules = () => toolRules.value.flatMap((rule) => parseToolRule(rule) ?? []);
  const trustedHosts = () => grantedHosts(operatorRules().filter(({ when }) => when === undefined));
  const built = createBuiltInTools({
    home,
    store,
    facts,
    workspaces,
    pdfs,
    snapshots,
    egressAllow: egressAllow.value,
    environment: process.env,
    get unreadable() {
      return unreadablePatterns(operatorRules());
    },
    confinement,
    get trustedHosts() {
      return trustedHosts();
    },
    ...(limits.perSession > 0 && { background }),
  });
  const own = hosts === undefined ? built : claimBeforeRun(built, workspaces);
  const minding = createProcessesTool(processes, trustedHosts);
  const tools = limits.perSession > 0 ? new Map([...own, [minding.name, minding]]) : own;
  return {
    tools,
    workspaces,
    worktrees: openWorktrees({ home, reads: store.reads, confinement, environment: process.env }),
    policy: withSandboxNote(policy, confinement, workspaces),
    rules,
    processes,
    confinement,
    facts,
    pdfs,
    snapshots,
  };
}
