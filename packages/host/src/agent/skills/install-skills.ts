import { randomBytes } from "node:crypto";
import { lstat, mkdir, open, readdir, rename, rm } from "node:fs/promises";
import { dirname, join } from "node:path";

import { isAboutFolder } from "./parse-skill.ts";
import { readSkillFolder, type ScannedSkill, scanSkills, type SkillScan } from "./scan-skills.ts";
import { unpackArchive } from "./unpack-archive.ts";

/** Skills from an archive wait in a quarantine until a person has seen what they are. */
export interface SkillInstaller {
  stage(
    archive: Uint8Array,
  ): Promise<
    | ({ readonly status: "staged"; readonly id: string } & SkillScan)
    | { readonly status: "refused"; readonly reason: string }
  >;
  /** Each of them is moved into place whole, with exactly the content that was shown, or not at all. */
  install(
    id: string,
    wanted: readonly { readonly path: string; readonly hash: string }[],
  ): Promise<
    | { readonly status: "installed" }
    | { readonly status: "not_found" | "changed" }
    | { readonly status: "exists"; readonly name: string }
  >;
  discard(id: string): Promise<void>;
}

/** A dot keeps scans out. */
const quarantineFolder = ".quarantine";
const maxAgeMs = 60 * 60_000;

export function createSkillInstaller(
  home: string,
  { now = Date.now }: { readonly now?: () => number } = {},
): SkillInstaller {
  const skills = join(home, "skills");
  const quarantine = join(skills, quarantineFolder);

  /** Deletes what nobody decided about within an hour, or a killed host left. */
  async function removeOld(): Promise<void> {
    for (const name of await readdir(quarantine).catch(() => [])) {
      const info = await lstat(join(quarantine, name)).catch(() => null);
      if (info !== null && now() - info.mtimeMs > maxAgeMs)
        await rm(join(quarantine, name), { recursive: true, force: true });
    }
  }

  return {
    async stage(archive) {
      const unpacked = await unpackArchive(archive);
      if (!unpacked.ok) return { status: "refused", reason: unpacked.reason };
      await removeOld();
      const id = randomBytes(8).toString("hex");
      const folder = join(quarantine, id);
      try {
        for (const [path, content] of unpacked.files) await writeNew(folder, path, content);
      } catch {
        await rm(folder, { recursive: true, force: true });
        return {
          status: "refused",
          reason: "The files of the archive cannot be written. Check their names.",
        };
      }
      const scan = await scanSkills(folder);
      // An installed skill has a folder of its name.
      const found = scan.skills.map((skill) => ({
        ...skill,
        warnings: skill.warnings.filter((warning) => !isAboutFolder(warning)),
      }));
      if (found.length > 0) return { status: "staged", id, skills: found, skipped: scan.skipped };
      await rm(folder, { recursive: true, force: true });
      const [first] = scan.skipped;
      const reason =
        first === undefined
          ? "There is no SKILL.md in it. Add one to each skill's folder."
          : `${first.path}: ${first.reason}`;
      return { status: "refused", reason };
    },
    async install(id, wanted) {
      const folder = join(quarantine, id);
      const chosen: ScannedSkill[] = [];
      for (const { path, hash } of wanted) {
        const read = await readSkillFolder(folder, path);
        if (!read.ok) return { status: "not_found" };
        if (read.skill.hash !== hash) return { status: "changed" };
        chosen.push(read.skill);
      }
      const names = new Set((await scanSkills(skills)).skills.map(({ name }) => name));
      for (const { name } of chosen) {
        if (names.has(name) || (await exists(join(skills, name))))
          return { status: "exists", name };
        names.add(name);
      }
      for (const { name, path } of chosen) await rename(join(folder, path), join(skills, name));
      await rm(folder, { recursive: true, force: true });
      return { status: "installed" };
    },
    async discard(id) {
      await rm(join(quarantine, id), { recursive: true, force: true });
    },
  };
}

async function writeNew(folder: string, path: string, content: Uint8Array): Promise<void> {
  const file = join(folder, path);
  await mkdir(dirname(file), { recursive: true });
  const handle = await open(file, "wx", 0o600);
  try {
    await handle.writeFile(content);
    await handle.sync();
  } finally {
    await handle.close();
  }
}

async function exists(path: string): Promise<boolean> {
  return (await lstat(path).catch(() => null)) !== null;
}
