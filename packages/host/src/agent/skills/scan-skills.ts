import { createHash } from "node:crypto";
import { isUtf8 } from "node:buffer";
import { basename, join } from "node:path";

import { inspectFile } from "./inspect-skill.ts";
import { Jail } from "../workspace/jail.ts";
import { parseSkill, skillFile, type SkillText } from "./parse-skill.ts";

export interface SkillFile {
  /** From the skill's folder. */
  readonly path: string;
  readonly size: number;
  readonly hash: string;
  readonly executable: boolean;
}

/** A skill as it is on the disk now. */
export interface ScannedSkill extends SkillText {
  /** The folder that was scanned, and the skill's folder below it. */
  readonly root: string;
  readonly path: string;
  /** Of the names and contents of all its files. */
  readonly hash: string;
  /** Sorted, with `SKILL.md`. */
  readonly files: readonly SkillFile[];
}

/** Why something that looks like a skill is left out. */
export interface SkippedSkill {
  /** From the scanned folder. */
  readonly path: string;
  readonly reason: string;
}

export interface SkillScan {
  readonly skills: readonly ScannedSkill[];
  readonly skipped: readonly SkippedSkill[];
}

const scanLimits = {
  /** How deep below the scanned folder a skill may be. */
  depth: 4,
  folders: 2_000,
  skills: 200,
  totalBytes: 64 * 1024 * 1024,
  /** Of one skill. */
  files: 1_000,
  fileDepth: 6,
  bytes: 16 * 1024 * 1024,
  fileBytes: 4 * 1024 * 1024,
} as const;

const nothing: SkillScan = { skills: [], skipped: [] };

/**
 * Finds the skills in a folder: each folder with a `SKILL.md`, in the order of their paths. Bounded, and nothing is read
 * through a link. A folder that does not exist has none.
 */
export async function scanSkills(root: string, below = ""): Promise<SkillScan> {
  const jail = await Jail.open(root);
  if (!jail.ok) return nothing;
  const skills: ScannedSkill[] = [];
  const skipped: SkippedSkill[] = [];
  let [folders, bytes] = [0, 0];
  const isFull = () =>
    folders >= scanLimits.folders ||
    skills.length >= scanLimits.skills ||
    bytes >= scanLimits.totalBytes;

  async function walk(path: string, depth: number): Promise<void> {
    if (isFull()) return;
    folders += 1;
    const listed = await (jail.ok ? jail.value.list(path) : jail);
    if (!listed.ok) {
      if (listed.refusal.code !== "not_found")
        skipped.push({ path, reason: `The folder cannot be read: ${listed.refusal.message}` });
      return;
    }
    if (listed.value.entries.some(({ name }) => name === skillFile)) {
      const read = await readSkillFolder(root, path);
      bytes += read.ok ? sizeOf(read.skill) : 0;
      if (read.ok) skills.push(read.skill);
      else skipped.push({ path, reason: read.reason });
      return;
    }
    for (const { name, kind } of listed.value.entries) {
      if (name.startsWith(".") || name === "node_modules") continue;
      const inner = join(path, name);
      if (kind === "link")
        skipped.push({
          path: inner,
          reason: "It is a link, and links are not followed. Replace it with the folder itself.",
        });
      if (kind === "folder" && depth < scanLimits.depth) await walk(inner, depth + 1);
    }
  }

  await walk(below, 0);
  if (isFull())
    skipped.unshift({
      path: below,
      reason: `Only the first ${scanLimits.skills} skills, ${scanLimits.folders} folders and ${scanLimits.totalBytes / 1024 / 1024} MiB are looked at.`,
    });
  return { skills, skipped: skipped.slice(0, maxSkipped) };
}

const maxSkipped = 100;

function sizeOf({ files }: Pick<ScannedSkill, "files">): number {
  return files.reduce((sum, { size }) => sum + size, 0);
}

/** What a person is shown at most of what looks suspicious. */
const maxFindings = 40;

export type SkillRead =
  | { readonly ok: true; readonly skill: ScannedSkill }
  | { readonly ok: false; readonly reason: string };

/** Reads all files of one skill. Its hash covers exactly the bytes that its text came from. */
export async function readSkillFolder(root: string, base = ""): Promise<SkillRead> {
  const jail = await Jail.open(root);
  if (!jail.ok) return { ok: false, reason: jail.refusal.message };
  const files: SkillFile[] = [];
  const found: string[] = [];
  let text: Buffer | null = null;
  let bytes = 0;

  async function walk(path: string, depth: number): Promise<string | null> {
    const listed = await (jail.ok ? jail.value.list(join(base, path)) : jail);
    if (!listed.ok) return listed.refusal.message;
    for (const { name, kind } of listed.value.entries) {
      const inner = join(path, name);
      if (kind === "link")
        return `${JSON.stringify(inner)} is a link, and links are not followed. Replace it with the file itself.`;
      if (kind === "other")
        return `${JSON.stringify(inner)} is neither a file nor a folder. Remove it.`;
      if (kind === "folder") {
        if (depth >= scanLimits.fileDepth)
          return `Its folders are nested more than ${scanLimits.fileDepth} deep. Move files up.`;
        const reason = await walk(inner, depth + 1);
        if (reason !== null) return reason;
        continue;
      }
      if (files.length >= scanLimits.files)
        return `It has more than ${scanLimits.files} files. Remove some.`;
      const read = await readSkillFile(jail.ok ? jail.value : null, base, inner);
      if (!read.ok) return read.reason;
      bytes += read.content.length;
      if (bytes > scanLimits.bytes)
        return `It is larger than ${scanLimits.bytes / 1024 / 1024} MiB. Remove some files.`;
      files.push(read.file);
      if (found.length < maxFindings)
        found.push(...inspectFile(inner, read.content, read.file.executable));
      if (inner === skillFile) text = read.content;
    }
    return null;
  }

  const reason = await walk("", 0);
  if (reason !== null) return { ok: false, reason };
  if (text === null) return { ok: false, reason: `It has no ${skillFile}. Add one.` };
  const parsed = await parseSkill(Buffer.from(text).toString("utf8"), basename(join(root, base)));
  if (!parsed.ok) return parsed;
  files.sort((a, b) => (a.path < b.path ? -1 : 1));
  const warnings = [...parsed.skill.warnings, ...found.slice(0, maxFindings)];
  const skill = { ...parsed.skill, warnings, root, path: base, files, hash: hashOfFiles(files) };
  return { ok: true, skill };
}

type FileRead =
  | { readonly ok: true; readonly file: SkillFile; readonly content: Buffer }
  | { readonly ok: false; readonly reason: string };

async function readSkillFile(jail: Jail | null, base: string, path: string): Promise<FileRead> {
  if (jail === null) return { ok: false, reason: "It no longer exists." };
  const read = await jail.read(join(base, path), async ({ handle, size, mode }) => {
    if (size > scanLimits.fileBytes) return null;
    // A file that grows while it is read must not fill the memory.
    const buffer = Buffer.alloc(size + 1);
    let length = 0;
    while (length < buffer.length) {
      const { bytesRead } = await handle.read(buffer, length, buffer.length - length, length);
      if (bytesRead === 0) break;
      length += bytesRead;
    }
    return { content: buffer.subarray(0, length), executable: (mode & 0o111) !== 0 };
  });
  if (!read.ok) return { ok: false, reason: read.refusal.message };
  if (read.value === null)
    return {
      ok: false,
      reason: `${JSON.stringify(path)} is larger than ${scanLimits.fileBytes / 1024 / 1024} MiB. Remove it or make it smaller.`,
    };
  const { content, executable } = read.value;
  const hash = createHash("sha256").update(content).digest("hex");
  return { ok: true, content, file: { path, size: content.length, hash, executable } };
}

function hashOfFiles(files: readonly SkillFile[]): string {
  const hash = createHash("sha256");
  for (const { path, size, hash: content } of files)
    hash.update(`${JSON.stringify(path)} ${size} ${content}\n`);
  return hash.digest("hex");
}

/** The text of one file of a skill as it was scanned. `null`: it is none of its files, or not text, or changed since. */
export async function readFileOfSkill(
  { root, path: base, files }: ScannedSkill,
  path: string,
): Promise<string | null> {
  const known = files.find((file) => file.path === path);
  const jail = known && (await Jail.open(root));
  if (known === undefined || jail === undefined || !jail.ok) return null;
  const read = await readSkillFile(jail.value, base, path);
  if (!read.ok || read.file.hash !== known.hash) return null;
  return isUtf8(read.content) && !read.content.includes(0) ? read.content.toString("utf8") : null;
}

/** The bytes of all files of a skill, exactly as they were scanned; `null` if one of them has changed since. */
export async function readScannedFiles({
  root,
  path: base,
  files,
}: ScannedSkill): Promise<ReadonlyMap<string, Uint8Array> | null> {
  const jail = await Jail.open(root);
  if (!jail.ok) return null;
  const contents = new Map<string, Uint8Array>();
  for (const { path, hash } of files) {
    const read = await readSkillFile(jail.value, base, path);
    if (!read.ok || read.file.hash !== hash) return null;
    contents.set(path, read.content);
  }
  return contents;
}
