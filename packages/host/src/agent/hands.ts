import { type Store, systemClock, type Tool } from "@holdfast/engine";
import { createLiveness } from "@holdfast/store/identity";

import type { Config } from "../ops/config/settings.ts";
import { createPolicy, type HostPolicy } from "./policy/policy.ts";
import { openStoredRules, type StoredRules } from "./policy/stored-rules.ts";
import { createProcessesTool } from "../automation/processes/processes-tool.ts";
import { ProcessManager } from "../automation/processes/process-manager.ts";
import { createBuiltInTools } from "./toolset.ts";
import { openWorkspaces, type Workspaces } from "./workspace/workspaces.ts";

/** What an agent can do here, where, and who has to be asked. */
export interface Toolset {
  readonly tools: ReadonlyMap<string, Tool>;
  readonly workspaces: Workspaces;
  readonly policy: HostPolicy;
  /** What people have allowed for good. */
  readonly rules: StoredRules;
  /** What goes on when its turn is over. */
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
