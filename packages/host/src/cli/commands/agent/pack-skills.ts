import { lstat, mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, join, resolve } from "node:path";

import { allowedEnvironment, runCommand } from "../../../sandbox/run-command.ts";
import { gitEnvironment } from "../../../util/git-environment.ts";
import { scanSkills, type SkippedSkill } from "../../../agent/skills/scan-skills.ts";
import { skillsStrings } from "../../strings/skills.ts";

const texts = skillsStrings.install;

export type PackedSkills =
  | { readonly ok: true; readonly archive: Uint8Array; readonly skipped: readonly SkippedSkill[] }
  | { readonly ok: false; readonly reason: string };

const maxArchiveBytes = 25 * 1024 * 1024;

/** What a person wants to install, as an archive for the host: a folder, an archive, or a git repository. */
export async function packSkills(
  source: string,
  environment: Readonly<Record<string, string | undefined>>,
): Promise<PackedSkills> {
  if (/^https:\/\//iu.test(source)) return packRepository(source, environment, "https");
  if (/^[a-z][a-z0-9+.-]*:/iu.test(source) || source.startsWith("-"))
    return unusable(texts.badSource);
  const path = resolve(source);
  const info = await lstat(path).catch(() => null);
  if (info?.isDirectory() === true) return packFolder(path, basename(path));
  if (info?.isFile() !== true) return unusable(texts.notFound(path));
  if (info.size > maxArchiveBytes) return unusable(texts.archiveTooLarge);
  return { ok: true, archive: await readFile(path), skipped: [] };
}

function unusable(reason: string): PackedSkills {
  return { ok: false, reason };
}

/** Takes the files of the skills alone, whatever else is in the folder. */
async function packFolder(folder: string, name: string): Promise<PackedSkills> {
  const { skills, skipped } = await scanSkills(folder);
  if (skills.length === 0) {
    const [first] = skipped;
    return unusable(
      first === undefined
        ? texts.noSkill(folder)
        : skillsStrings.skipped(join(folder, first.path), first.reason),
    );
  }
  const { zipSync } = await import("fflate");
  const files: Record<string, Uint8Array> = {};
  for (const skill of skills)
    for (const file of skill.files)
      files[join(skill.path === "" ? name : skill.path, file.path)] = await readFile(
        join(folder, skill.path, file.path),
      );
  const archive = zipSync(files);
  if (archive.length > maxArchiveBytes) return unusable(texts.skillsTooLarge);
  return { ok: true, archive, skipped };
}

const cloneTimeLimitMs = 120_000;

/**
 * Clones the newest version alone. Nothing that the repository or the person's configuration names is run: no hooks, no
 * filters, no submodules, no other transport. Links become plain files.
 */
export async function packRepository(
  address: string,
  environment: Readonly<Record<string, string | undefined>>,
  transport: "https" | "file",
): Promise<PackedSkills> {
  const folder = await mkdtemp(join(tmpdir(), "holdfast-skills-"));
  try {
    const target = join(folder, "repository");
    const settings = ["core.hooksPath=/dev/null", "core.symlinks=false", "protocol.allow=never"];
    const end = await runCommand({
      argv: [
        "git",
        ...[...settings, `protocol.${transport}.allow=always`].flatMap((each) => ["-c", each]),
        "clone",
        "--quiet",
        "--depth=1",
        "--single-branch",
        "--no-tags",
        "--no-recurse-submodules",
        "--template=",
        "--",
        address,
        target,
      ],
      folder,
      environment: {
        ...allowedEnvironment(environment),
        ...gitEnvironment,
        HOME: folder,
        GIT_CONFIG_GLOBAL: "/dev/null",
        GIT_CONFIG_NOSYSTEM: "1",
        GIT_LFS_SKIP_SMUDGE: "1",
      },
      timeLimitMs: cloneTimeLimitMs,
      keep: 2_000,
      signal: new AbortController().signal,
    });
    if (end.kind === "not_started") return unusable(texts.noGit);
    if (end.kind !== "exited" || end.code !== 0)
      return unusable(texts.notCloned(end.output.trim()));
    const name = /(?<name>[^/]+?)(?:\.git)?\/*$/u.exec(address)?.groups?.["name"] ?? "repository";
    return await packFolder(target, name);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
