import { type Store, systemClock, type Tool } from "@holdfast/engine";
import { createLiveness } from "@holdfast/store/identity";

import type { Config } from "../ops/config/settings.ts";
import { createPolicy, type HostPolicy } from "./policy/policy.ts";
import { keepRules, type KeptRules } from "./policy/stored-rules.ts";
import { createProcesses } from "../automation/processes/processes-tool.ts";
import { ProcessDesk } from "../automation/processes/process-manager.ts";
import { openTools } from "./toolset.ts";
import { openWorkspaces, type Workspaces } from "./workspace/workspaces.ts";

/** What an agent can do here, where, and who has to be asked. */
export interface Hands {
  readonly tools: ReadonlyMap<string, Tool>;
  readonly workspaces: Workspaces;
  readonly policy: HostPolicy;
  /** What people have allowed for good. */
  readonly rules: KeptRules;
  /** What goes on when its turn is over. */
  readonly processes: ProcessDesk;
}

export type HandsConfig = Pick<
  Config,
  | "home"
  | "toolPolicy"
  | "toolRules"
  | "workspaceRoots"
  | "egressAllow"
  | "processesPerSession"
  | "processHours"
>;

export function openHands(config: HandsConfig, store: Store): Hands {
  const { toolPolicy, toolRules, workspaceRoots, egressAllow } = config;
  const home = config.home.value;
  const workspaces = openWorkspaces({ home, roots: workspaceRoots.value }, store);
  const rules = keepRules(store.register);
  const policy = createPolicy({ mode: toolPolicy.value, rules: toolRules.value, kept: rules });
  const limits = {
    perSession: config.processesPerSession.value,
    hours: config.processHours.value,
  };
  const processes = new ProcessDesk({
    home,
    store,
    clock: systemClock,
    liveness: createLiveness(),
    limits,
  });
  const background = {
    mostSeconds: limits.hours * 3_600,
    start: processes.start.bind(processes),
  };
  const own = openTools({
    home,
    store,
    workspaces,
    egressAllow: egressAllow.value,
    environment: process.env,
    ...(limits.perSession > 0 && { background }),
  });
  const minding = createProcesses(processes);
  const tools = limits.perSession > 0 ? new Map([...own, [minding.name, minding]]) : own;
  return { tools, workspaces, policy, rules, processes };
}
