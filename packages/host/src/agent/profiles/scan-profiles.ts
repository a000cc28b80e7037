import { createHash } from "node:crypto";
import { join } from "node:path";

import { Jail } from "../workspace/jail.ts";
import type { SkippedSkill } from "../skills/scan-skills.ts";
import { parseProfile, type ProfileText } from "./parse-profile.ts";

/** A profile as its file is on the disk now. */
export interface ScannedProfile extends ProfileText {
  /** The folder that was scanned, and the file below it. */
  readonly root: string;
  readonly path: string;
  /** Of the file's content. */
  readonly hash: string;
  readonly warnings: readonly string[];
}

export interface ProfileScan {
  readonly profiles: readonly ScannedProfile[];
  readonly skipped: readonly SkippedSkill[];
}

const maxFiles = 100;
const maxFileBytes = 64 * 1024;

/** The Markdown files of one folder, in the order of their names. Nothing is read through a link. */
export async function scanProfiles(root: string, below = ""): Promise<ProfileScan> {
  const jail = await Jail.open(root);
  const listed = jail.ok ? await jail.value.list(below) : jail;
  if (!listed.ok)
    return listed.refusal.code === "not_found" || !jail.ok
      ? { profiles: [], skipped: [] }
      : { profiles: [], skipped: [{ path: below, reason: listed.refusal.message }] };
  const files = listed.value.entries
    .filter(({ name, kind }) => name.endsWith(".md") && !name.startsWith(".") && kind !== "folder")
    .map(({ name }) => join(below, name))
    .toSorted();
  const profiles: ScannedProfile[] = [];
  const skipped: SkippedSkill[] = [];
  for (const path of files.slice(0, maxFiles)) {
    const read = await readProfile(root, path);
    if (read.ok) profiles.push(read.profile);
    else skipped.push({ path, reason: read.reason });
  }
  if (files.length > maxFiles)
    skipped.push({ path: below, reason: `Only the first ${maxFiles} agents are read.` });
  return { profiles, skipped };
}

export type ProfileRead =
  | { readonly ok: true; readonly profile: ScannedProfile }
  | { readonly ok: false; readonly reason: string };

export async function readProfile(root: string, path: string): Promise<ProfileRead> {
  const jail = await Jail.open(root);
  if (!jail.ok) return { ok: false, reason: jail.refusal.message };
  const read = await jail.value.read(path, async ({ handle, size }) => {
    if (size > maxFileBytes) return null;
    const bytes = await handle.readFile();
    return bytes.byteLength > maxFileBytes ? null : bytes;
  });
  if (!read.ok) return { ok: false, reason: read.refusal.message };
  if (read.value === null)
    return { ok: false, reason: `It is larger than ${maxFileBytes / 1024} KiB. Shorten it.` };
  const parsed = await parseProfile(read.value.toString("utf8"), path.split("/").at(-1) ?? path);
  if (!parsed.ok) return parsed;
  const hash = createHash("sha256").update(read.value).digest("hex");
  return { ok: true, profile: { ...parsed.profile, warnings: parsed.warnings, root, path, hash } };
}
