import { activeSkills, readContext, type Reads, type Tool } from "@holdfast/engine";
import type { SkillMark } from "@holdfast/protocol";
import { z } from "zod";

import { defineTool, failed, ok } from "../tools/define-tool.ts";
import { readFileOfSkill } from "./scan-skills.ts";
import { skillContent } from "./skill-catalogue.ts";
import type { Skills } from "./skills.ts";

export const skillToolName = "activate_skill";

const maxFileCharacters = 48_000;

const input = z.strictObject({
  name: z.string().min(1).max(64).describe("The skill's name, as listed."),
  file: z
    .string()
    .min(1)
    .max(500)
    .optional()
    .describe("Reads this file of the skill instead of its instructions."),
});

export interface SkillToolDeps {
  readonly skills: Pick<Skills, "find">;
  readonly reads: Reads;
}

/** Gives the model a skill's instructions, or one of its files. It allows nothing that would be asked about otherwise. */
export function createSkillTool({ skills, reads }: SkillToolDeps): Tool {
  return defineTool({
    name: skillToolName,
    description:
      "Gives you the instructions of a skill that is listed in the system prompt, or a file that these instructions name.",
    input,
    replay: "safe",
    asks: "none",
    onlyReads: true,
    async run({ name, file }, { owner, session }) {
      const found = await skills.find({ owner, session }, name);
      if (found.status === "refused") return failed(found.reason);
      const { skill, mark } = found;
      if (file !== undefined) {
        const text = await readFileOfSkill(skill, file.replace(/^\.\//u, ""));
        if (text === null)
          return failed(`The skill ${name} has no text file ${JSON.stringify(file)}.`);
        return text.length <= maxFileCharacters
          ? ok(text)
          : ok(
              `${text.slice(0, maxFileCharacters).toWellFormed()}\n[The file has ${text.length} characters; the rest is left out.]`,
            );
      }
      if (await isActive(reads, { owner, session }, mark))
        return ok(
          `The skill ${name} is active already. Its instructions are above and have not changed.`,
        );
      return { ...ok(skillContent(skill)), skill: mark };
    },
  });
}

/** Whether the model has exactly these instructions in its context. */
export async function isActive(
  reads: Reads,
  { owner, session }: Parameters<Skills["find"]>[0],
  { name, hash }: SkillMark,
): Promise<boolean> {
  const context = await readContext(reads, owner, session);
  return context !== null && activeSkills(context).get(name)?.hash === hash;
}
