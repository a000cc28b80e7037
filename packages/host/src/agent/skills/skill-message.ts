import type { Reads, Recall } from "@holdfast/engine";

import { skillContent } from "./skill-catalogue.ts";
import { isActive } from "./skill-tool.ts";
import type { Skills } from "./skills.ts";

const invocation = /^\/(?:skill\s+)?(?<name>[a-z0-9-]{1,64})(?:\s|$)/u;

/**
 * A message that begins with `/name` activates that skill: the model gets its instructions beside the message. What
 * follows the name stays in the message alone. Any other text is what it says.
 */
export function skillsOfMessages(skills: Skills, reads: Reads): Recall {
  return async ({ owner, session, text, memory }) => {
    const name = memory === "none" ? undefined : invocation.exec(text)?.groups?.["name"];
    if (name === undefined) return [];
    const found = await skills.find({ owner, session }, name).catch(() => null);
    if (found?.status !== "found") return [];
    const { skill, mark } = found;
    if (await isActive(reads, { owner, session }, mark).catch(() => false))
      return [{ type: "attached", source: "skill", text: stillActive(name) }];
    return [{ type: "attached", source: "skill", text: skillContent(skill), skill: mark }];
  };
}

function stillActive(name: string): string {
  return `The message asks for the skill ${name}. Its instructions are above and have not changed.`;
}
