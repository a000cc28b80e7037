import { lstat, mkdtemp, readFile, realpath, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, dirname, isAbsolute, join, resolve } from "node:path";

import type { Confinement } from "../../sandbox/confinement.ts";
import { allowedEnvironment, runCommand } from "../../sandbox/run-command.ts";
import { gitEnvironment } from "../../util/git-environment.ts";
import { readScannedFiles, scanSkills, type SkippedSkill } from "./scan-skills.ts";
import { packStrings as texts } from "./strings.ts";

export type PackedSkills =
  | { readonly ok: true; readonly archive: Uint8Array; readonly skipped: readonly SkippedSkill[] }
  | { readonly ok: false; readonly reason: string };

const maxArchiveBytes = 25 * 1024 * 1024;

/** What a person has beside them, as an archive for the host: a folder, or an archive as it is. */
export async function packSkills(source: string): Promise<PackedSkills> {
  if (/^[a-z][a-z0-9+.-]*:/iu.test(source) || source.startsWith("-"))
    return unusable(texts.badSource);
  const path = resolve(source);
  const info = await lstat(path).catch(() => null);
  if (info?.isDirectory() === true) return packFolder(path, basename(path));
  if (info?.isFile() !== true) return unusable(texts.notFound(path));
  if (info.size > maxArchiveBytes) return unusable(texts.archiveTooLarge);
  return { ok: true, archive: await readFile(path), skipped: [] };
}

/** A folder of the host, which a person names from afar. */
export async function packHostFolder(path: string): Promise<PackedSkills> {
  if (!isAbsolute(path)) return unusable(texts.notAbsolute(path));
  const info = await lstat(path).catch(() => null);
  if (info?.isDirectory() !== true) return unusable(texts.notFolder(path));
  return packFolder(resolve(path), basename(resolve(path)));
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
        : texts.skipped(join(folder, first.path), first.reason),
    );
  }
  const { zipSync } = await import("fflate");
  const files: Record<string, Uint8Array> = {};
  for (const skill of skills) {
    // Exactly what was scanned: a file that is replaced meanwhile is not followed anywhere.
    const contents = await readScannedFiles(skill);
    if (contents === null) return unusable(texts.changed(join(folder, skill.path)));
    for (const [path, content] of contents)
      files[join(skill.path === "" ? name : skill.path, path)] = content;
  }
  const archive = zipSync(files);
  if (archive.length > maxArchiveBytes) return unusable(texts.skillsTooLarge);
  return { ok: true, archive, skipped };
}

const cloneTimeLimitMs = 120_000;

export interface CloneDeps {
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** git runs inside it, and reaches the repository's host alone. */
  readonly confinement: Pick<Confinement, "confine">;
}

/** The skills of a git repository. Its address is typed by a person, and so is what it leads to. */
export async function packRepository(address: string, deps: CloneDeps): Promise<PackedSkills> {
  const url = URL.parse(address);
  const isPlain = url?.protocol === "https:" && url.username === "" && url.password === "";
  if (!isPlain) return unusable(texts.badAddress);
  return cloneAndPack(url.href, { ...deps, transport: "https", hosts: [url.hostname] });
}

/**
 * Clones the newest version alone. Nothing that the repository or the person's configuration names is run: no hooks, no
 * filters, no submodules, no other transport. Links become plain files.
 */
export async function cloneAndPack(
  address: string,
  {
    environment,
    confinement,
    transport,
    hosts,
    readable = [],
  }: CloneDeps & {
    readonly transport: "https" | "file";
    readonly hosts: readonly string[];
    readonly readable?: readonly string[];
  },
): Promise<PackedSkills> {
  const folder = await mkdtemp(join(await realpath(tmpdir()), "holdfast-skills-"));
  try {
    const target = join(folder, "repository");
    const settings = [
      "core.hooksPath=/dev/null",
      "core.symlinks=false",
      "protocol.allow=never",
      "http.followRedirects=false",
      `protocol.${transport}.allow=always`,
    ];
    // An operator's own authorities, as git itself takes them.
    const { GIT_SSL_CAINFO: authorities } = environment;
    const confined = await confinement.confine(
      {
        argv: [
          "git",
          ...settings.flatMap((each) => ["-c", each]),
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
          ...(authorities !== undefined && { GIT_SSL_CAINFO: authorities }),
        },
      },
      {
        writable: [folder],
        readable: [...readable, ...(authorities === undefined ? [] : [dirname(authorities)])],
        network: hosts.length === 0 ? "none" : { hosts },
      },
    );
    if (!confined.ok) return unusable(texts.notCloned(confined.message));
    const end = await runCommand({
      ...confined.command,
      network: confined.network,
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
