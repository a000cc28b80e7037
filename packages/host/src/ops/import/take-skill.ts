import { randomUUID } from "node:crypto";
import { mkdir, rename, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";

import { scanSkills } from "../../agent/skills/scan-skills.ts";
import { openSkillStore } from "../../agent/skills/skill-store.ts";
import type { ImportedSkill } from "./source.ts";
import type { Answer, TakerContext } from "./taker.ts";

/** More switched-off skills aren't remembered as such. */
const maxSkillsOff = 150;

/** Off before it is there, so that nobody uses it in between. */
export async function takeSkill(
  { deps, keep: keepBytes }: TakerContext,
  item: ImportedSkill,
): Promise<Answer> {
  const { home, owner, log, mode } = deps;
  const root = join(home, "skills");
  const draft = join(root, ".quarantine", `import-${randomUUID()}`);
  const keep = () =>
    keepBytes(
      Buffer.from(
        JSON.stringify(
          item.files.map(({ path, bytes }) => [path, Buffer.from(bytes).toString("base64")]),
        ),
      ),
    );
  try {
    const folder = item.path.split("/").at(-1) ?? "skill";
    for (const { path, bytes } of item.files) await writeBelow(join(draft, folder), path, bytes);
    const { skills, skipped } = await scanSkills(draft);
    const [skill] = skills;
    if (skill === undefined)
      return {
        outcome: "skipped",
        reason: skipped[0]?.reason ?? "no_skill",
        ...(await keep()),
      };
    const installed = (await scanSkills(root)).skills.find(({ name }) => name === skill.name);
    if (installed !== undefined)
      return installed.hash === skill.hash
        ? { outcome: "known" }
        : { outcome: "skipped", reason: "name_taken", ...(await keep()) };
    if (mode === "dry") return { outcome: "taken", reason: "off" };
    const store = openSkillStore(log.store.register);
    const off = await store.readOff(owner);
    if (off.length >= maxSkillsOff && !off.includes(skill.name))
      return { outcome: "skipped", reason: "too_many", ...(await keep()) };
    if (off.includes(skill.name))
      return { outcome: "skipped", reason: "deleted_here", ...(await keep()) };
    await store.switch(owner, skill.name, "off");
    await rename(join(draft, folder), join(root, skill.name));
    return { outcome: "taken", reason: "off" };
  } finally {
    await rm(draft, { recursive: true, force: true });
  }
}

async function writeBelow(folder: string, path: string, bytes: Uint8Array): Promise<void> {
  // Names are those of files in a folder, and lead nowhere else.
  const parts = path.split("/");
  if (parts.some((part) => part === "" || part === "." || part === "..")) return;
  const file = join(folder, ...parts);
  await mkdir(dirname(file), { recursive: true, mode: 0o700 });
  await writeFile(file, bytes, { flag: "wx", mode: 0o600 });
}
