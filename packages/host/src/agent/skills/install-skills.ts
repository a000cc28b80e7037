import { randomBytes } from "node:crypto";
import { lstat, mkdir, open, readdir, rename, rm } from "node:fs/promises";
import { dirname, join } from "node:path";

import { serialQueue } from "../../util/serial-queue.ts";
import { compareSkills, type SkillChange } from "./compare-skills.ts";
import { type CloneDeps, packHostFolder, packRepository } from "./pack-skills.ts";
import { isAboutFolder } from "./parse-skill.ts";
import { readSkillFolder, type ScannedSkill, scanSkills, type SkillScan } from "./scan-skills.ts";
import { unpackArchive } from "./unpack-archive.ts";

/** A skill that waits, and the installed one of its name. */
export interface StagedSkill extends ScannedSkill {
  readonly replaces: ReplacedSkill | null;
}

export interface ReplacedSkill {
  readonly hash: string;
  readonly changes: readonly SkillChange[];
}

export type StageResult =
  | {
      readonly status: "staged";
      readonly id: string;
      readonly skills: readonly StagedSkill[];
      readonly skipped: SkillScan["skipped"];
    }
  | { readonly status: "refused"; readonly reason: string };

export interface WantedSkill {
  readonly path: string;
  readonly hash: string;
  /** The installed one that it takes the place of, with exactly the content that was compared. */
  readonly replaces?: string | undefined;
}

/** Skills wait in a quarantine until a person has seen what they are. */
export interface SkillInstaller {
  stage(archive: Uint8Array): Promise<StageResult>;
  /** Skills of a folder of the host, or of a git repository. */
  stageFrom(
    source: { readonly folder: string } | { readonly address: string },
  ): Promise<StageResult>;
  /** Each of them is moved into place whole, with exactly the content that was shown, or not at all. */
  install(
    id: string,
    wanted: readonly WantedSkill[],
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

/** Ends the name of a folder beside an upload: what is being replaced, by name, until the new one is in its place. */
const replacedEnd = "-replaced";

export function createSkillInstaller(
  home: string,
  clone: CloneDeps,
  { now = Date.now }: { readonly now?: () => number } = {},
): SkillInstaller {
  const queue = serialQueue();
  const skills = join(home, "skills");
  const quarantine = join(skills, quarantineFolder);

  /** Puts back what a killed host had moved away before the new one was in its place. */
  async function restoreReplaced(): Promise<void> {
    for (const folder of await readdir(quarantine).catch(() => [])) {
      if (!folder.endsWith(replacedEnd)) continue;
      const replaced = join(quarantine, folder);
      for (const name of await readdir(replaced).catch(() => []))
        if (!(await exists(join(skills, name))))
          await rename(join(replaced, name), join(skills, name));
      await rm(replaced, { recursive: true, force: true });
    }
  }

  /** Deletes what nobody decided about within an hour, or a killed host left. */
  async function removeOld(): Promise<void> {
    await restoreReplaced();
    for (const name of await readdir(quarantine).catch(() => [])) {
      const info = await lstat(join(quarantine, name)).catch(() => null);
      if (info !== null && now() - info.mtimeMs > maxAgeMs)
        await rm(join(quarantine, name), { recursive: true, force: true });
    }
  }

  async function stage(archive: Uint8Array): Promise<StageResult> {
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
    const installed = await scanSkills(skills);
    const found: StagedSkill[] = [];
    for (const skill of scan.skills) {
      const old = installed.skills.find(({ name }) => name === skill.name);
      found.push({
        ...skill,
        // An installed skill has a folder of its name.
        warnings: skill.warnings.filter((warning) => !isAboutFolder(warning)),
        replaces:
          old === undefined ? null : { hash: old.hash, changes: await compareSkills(old, skill) },
      });
    }
    if (found.length > 0) return { status: "staged", id, skills: found, skipped: scan.skipped };
    await rm(folder, { recursive: true, force: true });
    const [first] = scan.skipped;
    const reason =
      first === undefined
        ? "There is no SKILL.md in it. Add one to each skill's folder."
        : `${first.path}: ${first.reason}`;
    return { status: "refused", reason };
  }

  type Installed = Awaited<ReturnType<SkillInstaller["install"]>>;

  async function install(id: string, wanted: readonly WantedSkill[]): Promise<Installed> {
    const folder = join(quarantine, id);
    const chosen: { readonly skill: ScannedSkill; readonly old: string | null }[] = [];
    const installed = (await scanSkills(skills)).skills;
    const names = new Set<string>();
    // A folder inside of a skill is a part of it, whatever is in it.
    const offered = new Set((await scanSkills(folder)).skills.map(({ path }) => path));
    for (const { path, hash, replaces } of wanted) {
      const read = await readSkillFolder(folder, path);
      if (!read.ok) return { status: "not_found" };
      if (!offered.has(path)) return { status: "changed" };
      const { skill } = read;
      if (skill.hash !== hash) return { status: "changed" };
      const old = installed.find(({ name }) => name === skill.name);
      // Something else of this name is never moved away, and neither is a skill that nobody has compared.
      const isTaken =
        old === undefined ? await exists(join(skills, skill.name)) : replaces === undefined;
      if (names.has(skill.name) || isTaken) return { status: "exists", name: skill.name };
      if (replaces !== undefined && old?.hash !== replaces) return { status: "changed" };
      names.add(skill.name);
      chosen.push({ skill, old: old?.path ?? null });
    }
    for (const { skill, old } of chosen) await putInPlace(folder, skill, old);
    for (const done of [folder, `${folder}${replacedEnd}`])
      await rm(done, { recursive: true, force: true });
    return { status: "installed" };
  }

  async function putInPlace(folder: string, { name, path }: ScannedSkill, old: string | null) {
    const aside = join(`${folder}${replacedEnd}`, name);
    if (old !== null) {
      await mkdir(dirname(aside), { recursive: true });
      await rename(join(skills, old), aside);
    }
    try {
      await rename(join(folder, path), join(skills, name));
    } catch (error) {
      if (old !== null) await rename(aside, join(skills, old));
      throw error;
    }
  }

  void queue(restoreReplaced).catch(() => undefined);
  return {
    stage: (archive) => queue(() => stage(archive)),
    async stageFrom(source) {
      const packed = await ("folder" in source
        ? packHostFolder(source.folder)
        : packRepository(source.address, clone));
      if (!packed.ok) return { status: "refused", reason: packed.reason };
      const staged = await queue(() => stage(packed.archive));
      return staged.status === "refused"
        ? staged
        : { ...staged, skipped: [...packed.skipped, ...staged.skipped] };
    },
    install: (id, wanted) => queue(() => install(id, wanted)),
    discard: (id) => queue(() => rm(join(quarantine, id), { recursive: true, force: true })),
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
