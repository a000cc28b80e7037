import { z } from "zod";

import { readFrontMatter } from "./front-matter.ts";

/** A `SKILL.md` as https://agentskills.io/specification describes it. */
export interface SkillText {
  readonly name: string;
  readonly description: string;
  /** Without the front matter. */
  readonly body: string;
  /** Tools that the author would like to be allowed. They are shown, and allow nothing. */
  readonly allowedTools: string | null;
  /** What is wrong with it, though it can be used. */
  readonly warnings: readonly string[];
}

export type SkillParse =
  | { readonly ok: true; readonly skill: SkillText }
  | { readonly ok: false; readonly reason: string };

export const skillFile = "SKILL.md";

/** As stored, a body has to fit beside its list of files into one tool's result. */
const maxBodyBytes = 48 * 1024;
const maxDescriptionLength = 1_024;
const namePattern = /^(?!-)(?!.*--)[a-z0-9-]{1,64}(?<!-)$/u;

/** Every value as text: a version like `1.10` stays what it is. */
const frontMatter = z.looseObject({
  name: z.string().optional(),
  description: z.string().optional(),
  "allowed-tools": z.union([z.string(), z.array(z.string())]).optional(),
});

/** Lenient where that is safe; otherwise the reason says what to correct. */
export async function parseSkill(text: string, folderName: string): Promise<SkillParse> {
  const read = await readFrontMatter(text, skillFile);
  if (!read.ok) return read;
  const { fields, body: rawBody } = read;
  const decoded = frontMatter.safeParse(fields);
  if (!decoded.success)
    return unusable(`The name and the description in ${skillFile} must be text.`);
  const { name: declared = "", description: given = "", "allowed-tools": tools } = decoded.data;
  const warnings: string[] = [];
  const name = chooseName(declared.trim(), folderName, warnings);
  if (name === null)
    return unusable(
      `A skill's name has 1 to 64 lower-case letters, digits and single hyphens. Rename ${JSON.stringify(declared.slice(0, 80))}.`,
    );
  const whole = given.replaceAll(/\s+/gu, " ").trim();
  if (whole === "")
    return unusable(
      `${skillFile} has no description. Add one, so that the model knows when to use the skill.`,
    );
  if (whole.length > maxDescriptionLength)
    warnings.push(`The description was cut: it has more than ${maxDescriptionLength} characters.`);
  const description = whole.slice(0, maxDescriptionLength).toWellFormed();
  const body = rawBody.trim();
  if (body === "")
    return unusable(`${skillFile} has no instructions below its front matter. Add some.`);
  if (Buffer.byteLength(JSON.stringify(body)) > maxBodyBytes)
    return unusable(
      `${skillFile} is longer than ${maxBodyBytes / 1024} KiB. Move a part of it to files beside it.`,
    );
  const allowedTools = [tools ?? []].flat().join(" ").replaceAll(/\s+/gu, " ").trim();
  if (allowedTools !== "")
    warnings.push(
      "It asks for tools to be allowed. Holdfast ignores that: each call is decided as always.",
    );
  return {
    ok: true,
    skill: { name, description, body, allowedTools: allowedTools || null, warnings },
  };
}

function unusable(reason: string): SkillParse {
  return { ok: false, reason };
}

const folderWarning = "Its folder is called";

/** Whether a warning is only about the folder that the skill is in now. */
export function isAboutFolder(warning: string): boolean {
  return warning.startsWith(folderWarning);
}

function chooseName(declared: string, folderName: string, warnings: string[]): string | null {
  if (namePattern.test(declared)) {
    if (declared !== folderName)
      warnings.push(
        `${folderWarning} ${JSON.stringify(folderName.slice(0, 80))}; its own name is used.`,
      );
    return declared;
  }
  if (!namePattern.test(folderName)) return null;
  warnings.push("It has no valid name, so the name of its folder is used.");
  return folderName;
}
