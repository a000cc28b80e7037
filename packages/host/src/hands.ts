import type { Store, Tool } from "@holdfast/engine";

import type { Config } from "./config/index.ts";
import { createPolicy, type HostPolicy, keepRules, type KeptRules } from "./policy/index.ts";
import { openTools, openWorkspaces, type Workspaces } from "./tools/index.ts";

/** What an agent can do here, where, and who has to be asked. */
export interface Hands {
  readonly tools: ReadonlyMap<string, Tool>;
  readonly workspaces: Workspaces;
  readonly policy: HostPolicy;
  /** What people have allowed for good. */
  readonly rules: KeptRules;
}

export type HandsConfig = Pick<
  Config,
  "home" | "toolPolicy" | "toolRules" | "workspaceRoots" | "egressAllow"
>;

export function openHands(
  { home, toolPolicy, toolRules, workspaceRoots, egressAllow }: HandsConfig,
  store: Store,
): Hands {
  const workspaces = openWorkspaces({ home: home.value, roots: workspaceRoots.value }, store);
  const rules = keepRules(store.register);
  const policy = createPolicy({ mode: toolPolicy.value, rules: toolRules.value, kept: rules });
  const tools = openTools({
    home: home.value,
    store,
    workspaces,
    egressAllow: egressAllow.value,
    environment: process.env,
  });
  return { tools, workspaces, policy, rules };
}
