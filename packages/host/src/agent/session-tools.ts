import type { AgentSession, Tool } from "@holdfast/engine";

import { withoutAgents } from "../automation/delegate/delegate-tool.ts";
import type { Profiles } from "./profiles/profiles.ts";
import { skillToolName } from "./skills/skill-tool.ts";
import type { Skills } from "./skills/skills.ts";

/**
 * The tools as a session has them. P9: without skills it has no tool for them, and without agents to choose from its
 * delegate tool is what it was before there were any.
 */
export function createSessionTools(deps: {
  readonly skills: Pick<Skills, "signature">;
  readonly profiles: Pick<Profiles, "signature">;
}) {
  return async (
    session: AgentSession,
    all: ReadonlyMap<string, Tool>,
  ): Promise<ReadonlyMap<string, Tool>> => {
    const hasSkills = (await deps.skills.signature(session)) !== "";
    const hasAgents = (await deps.profiles.signature(session)) !== "";
    return new Map(
      [...all]
        .filter(([name]) => hasSkills || name !== skillToolName)
        .map(([name, tool]) => [
          name,
          name === "delegate" && !hasAgents ? withoutAgents(tool) : tool,
        ]),
    );
  };
}
