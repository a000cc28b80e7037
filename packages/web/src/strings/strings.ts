import { agentStrings } from "./agent.ts";
import { agentsStrings } from "./agents.ts";
import { commonStrings } from "./common.ts";
import { mcpStrings } from "./mcp.ts";
import { memoryStrings } from "./memory.ts";
import { schedulesStrings } from "./schedules.ts";
import { sessionsStrings } from "./sessions.ts";
import { settingsStrings } from "./settings.ts";
import { filesStrings } from "./files.ts";
import { featuresStrings } from "./features.ts";
import { hostSettingsStrings } from "./host-settings.ts";
import { skillsStrings } from "./skills.ts";
import { talkStrings } from "./talk.ts";
import { usageStrings } from "./usage.ts";

/** The texts of the page. A translation replaces the files imported here, and `imports.ts`, which is loaded when it is needed. */
export const strings = {
  ...commonStrings,
  ...sessionsStrings,
  ...talkStrings,
  ...settingsStrings,
  ...featuresStrings,
  ...mcpStrings,
  ...agentStrings,
  ...skillsStrings,
  ...agentsStrings,
  ...memoryStrings,
  ...filesStrings,
  ...schedulesStrings,
  ...hostSettingsStrings,
  ...usageStrings,
} as const;
