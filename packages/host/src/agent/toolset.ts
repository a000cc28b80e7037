import { type Store, type Tool, systemClock } from "@holdfast/engine";
import { createEgress } from "../util/egress/egress.ts";
import { saveNote } from "./memory/notes.ts";
import { createApplyPatch } from "./tools/apply-patch.ts";
import { createAskUser } from "./tools/ask-user.ts";
import { createEditFile } from "./tools/edit-file.ts";
import { allowedEnvironment } from "../util/run-command.ts";
import { createFetchUrl } from "./tools/fetch-url.ts";
import { createFileSearch } from "./tools/file-search.ts";
import { createGlob, createListFiles } from "./tools/find-files.ts";
import { createGrep } from "./tools/grep.ts";
import { createReadFile } from "./tools/read-file.ts";
import { createRemember } from "./tools/remember.ts";
import { createSearchSessions } from "./tools/search-sessions.ts";
import { createSendFile } from "./tools/send-file.ts";
import { type BackgroundRunner, createTerminal } from "./tools/terminal.ts";
import { createTodo } from "./tools/todo.ts";
import { openWorkspaces, type Workspaces } from "./workspace/workspaces.ts";
import { createWriteFile } from "./tools/write-file.ts";
import { createLiveness } from "@holdfast/store/identity";
import type { Config } from "../ops/config/settings.ts";
import { createPolicy, type HostPolicy } from "./policy/policy.ts";
import { openStoredRules, type StoredRules } from "./policy/stored-rules.ts";
import { createProcessesTool } from "../automation/processes/processes-tool.ts";
import { ProcessManager } from "../automation/processes/process-manager.ts";

export { type Workspaces };

export interface BuiltInToolDeps {
  readonly home: string;
  readonly store: Store;
  readonly workspaces: Workspaces;
  /** `host` or `host:port` beyond the public internet that may be fetched. */
  readonly egressAllow: readonly string[];
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** Without it every command ends with its call. */
  readonly background?: BackgroundRunner;
}

/** The tools that every session has, by name, always in one order: they are part of how a context begins. */
export function createBuiltInTools(parts: BuiltInToolDeps): ReadonlyMap<string, Tool> {
  const { home, store, workspaces, egressAllow } = parts;
  const files = { workspaces };
  const searched = { workspaces, search: createFileSearch() };
  const tools = [
    createTerminal({
      workspaces,
      environment: allowedEnvironment(parts.environment),
      ...(parts.background && { background: parts.background }),
    }),
    createReadFile(files),
    createWriteFile(files),
    createEditFile(files),
    createApplyPatch(files),
    createListFiles(searched),
    createGlob(searched),
    createGrep(searched),
    createFetchUrl(createEgress({ allow: egressAllow })),
    createTodo(store.reads),
    createRemember((owner, about, line) => saveNote(home, owner, about, line)),
    createSearchSessions(store.search),
    createAskUser(),
    createSendFile({ workspaces, store }),
  ];
  return new Map(tools.map((tool) => [tool.name, tool]));
}

/** What an agent can do here, where, and who has to be asked. */
export interface Toolset {
  readonly tools: ReadonlyMap<string, Tool>;
  readonly workspaces: Workspaces;
  readonly policy: HostPolicy;
  /** What people have allowed for good. */
  readonly rules: StoredRules;
  /** Work that continues after its turn has ended. */
  readonly processes: ProcessManager;
}

export type ToolsetConfig = Pick<
  Config,
  | "home"
  | "toolPolicy"
  | "toolRules"
  | "workspaceRoots"
  | "egressAllow"
  | "processesPerSession"
  | "processHours"
>;

export function createToolset(config: ToolsetConfig, store: Store): Toolset {
  const { toolPolicy, toolRules, workspaceRoots, egressAllow } = config;
  const home = config.home.value;
  const workspaces = openWorkspaces({ home, roots: workspaceRoots.value }, store);
  const rules = openStoredRules(store.register);
  const policy = createPolicy({
    mode: toolPolicy.value,
    rules: toolRules.value,
    storedRules: rules,
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
  const own = createBuiltInTools({
    home,
    store,
    workspaces,
    egressAllow: egressAllow.value,
    environment: process.env,
    ...(limits.perSession > 0 && { background }),
  });
  const minding = createProcessesTool(processes);
  const tools = limits.perSession > 0 ? new Map([...own, [minding.name, minding]]) : own;
  return { tools, workspaces, policy, rules, processes };
}
