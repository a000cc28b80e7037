import { randomBytes } from "node:crypto";
import { readdir, rename, rm } from "node:fs/promises";
import { basename, dirname, join } from "node:path";

import { shortHash, type Register } from "@holdfast/engine";
import type { OwnerId, SessionId, SkillMark } from "@holdfast/protocol";

import type { Workspaces } from "../workspace/workspaces.ts";
import { createSkillInstaller, type SkillInstaller } from "./install-skills.ts";
import type { CloneDeps } from "./pack-skills.ts";
import { createScanCache } from "./scan-cache.ts";
import {
  readSkillFolder,
  type ScannedSkill,
  scanSkills,
  type SkillScan,
  type SkippedSkill,
} from "./scan-skills.ts";
import { type AvailableSkill, skillsBlock } from "./skill-catalogue.ts";
import { type DecidedSkill, openSkillStore, type SkillDecision } from "./skill-store.ts";

interface SessionRef {
  readonly owner: OwnerId;
  readonly session: SessionId;
}

/** Where a workspace's skills are looked for. The first skill with a name is used. */
const workspaceSkillFolders = [".holdfast/skills", ".agents/skills", ".claude/skills"] as const;

export interface ListedSkill extends AvailableSkill {
  /** `undecided` and `refused`: a workspace's skill that the model does not get. */
  readonly state: "on" | "off" | "undecided" | "refused";
  /** Names the skill of the same name that is used in its place. */
  readonly shadowedBy: string | null;
}

export interface SkillList {
  readonly skills: readonly ListedSkill[];
  readonly skipped: readonly SkippedSkill[];
}

export type SkillLookup =
  | { readonly status: "found"; readonly skill: AvailableSkill; readonly mark: SkillMark }
  /** The sentence is for whoever asked: the model, or a person. */
  | { readonly status: "refused"; readonly reason: string };

/** The skills of sessions: which there are, which count, and what a person has decided about them. */
export interface Skills {
  /** Identifies what a session's catalogue is made from; empty if it has no skills. */
  signature(whose: SessionRef): Promise<string>;
  /** The catalogue, as a part of the system prompt. */
  text(whose: SessionRef): Promise<string>;
  /** What a session's model may activate, in the order of the catalogue. */
  available(whose: SessionRef): Promise<readonly AvailableSkill[]>;
  /** One of these, as it is on the disk now. */
  find(whose: SessionRef, name: string): Promise<SkillLookup>;
  /** The person's own, with those that are off. */
  listOwn(owner: OwnerId): Promise<SkillList>;
  /** The workspace's, with those that nobody has trusted; `null` if there is no such session. */
  listWorkspace(whose: SessionRef): Promise<(SkillList & { readonly folder: string }) | null>;
  /** Puts new ones into the home of the host. */
  readonly installer: SkillInstaller;
  switch(owner: OwnerId, name: string, to: "on" | "off"): Promise<"kept" | "not_found">;
  /** Deletes an installed skill with its files. */
  remove(owner: OwnerId, name: string): Promise<"removed" | "not_found" | "not_installed">;
  /** Applies to exactly this content. */
  decide(
    whose: SessionRef,
    word: { readonly path: string; readonly hash: string; readonly decision: SkillDecision },
  ): Promise<"kept" | "changed" | "not_found">;
}

export interface SkillsDeps {
  /** The owner of the skills on this host. Other owners have only the skills of their workspaces. */
  readonly operator: OwnerId;
  readonly home: string;
  readonly register: Register;
  readonly workspaces: Pick<Workspaces, "locate">;
  /** For skills that come from a git repository. */
  readonly clone: CloneDeps;
  /** Whether a session may have what a person keeps for themselves. */
  readonly mayUse: (whose: SessionRef) => Promise<boolean>;
}

export function openSkills(deps: SkillsDeps): Skills {
  const { home, operator, register, workspaces, mayUse } = deps;
  const store = openSkillStore(register);
  const own = ownFolders(home);
  const scanOwn = createScanCache();

  /** Those that are on, without what they shadow. */
  async function ownSkills(owner: OwnerId): Promise<readonly AvailableSkill[]> {
    const { skills } = await listOwn(owner);
    return skills.filter(({ state, shadowedBy }) => state === "on" && shadowedBy === null);
  }

  async function listOwn(owner: OwnerId): Promise<SkillList> {
    if (owner !== operator) return { skills: [], skipped: [] };
    const off = new Set(await store.readOff(owner));
    const scans = await Promise.all(own.map(({ folder }) => scanOwn(folder)));
    const found = scans.flatMap(({ skills }, index) =>
      skills.map((skill) => ({ ...skill, source: own[index]?.source ?? "home" })),
    );
    return {
      skills: markShadowed(
        found.map((skill) => ({ ...skill, state: off.has(skill.name) ? "off" : "on" })),
      ),
      skipped: scans.flatMap(({ skipped }, index) =>
        skipped.map(({ path, reason }) => ({
          path: join(own[index]?.folder ?? "", path),
          reason,
        })),
      ),
    };
  }

  async function scanWorkspace(folder: string): Promise<SkillScan> {
    const scans = await Promise.all(
      workspaceSkillFolders.map((below) => scanSkills(folder, below)),
    );
    return {
      skills: scans.flatMap(({ skills }) => skills),
      skipped: scans.flatMap(({ skipped }) => skipped),
    };
  }

  async function listWorkspace(
    whose: SessionRef,
  ): Promise<(SkillList & { readonly folder: string }) | null> {
    const folder = await workspaces.locate(whose);
    if (folder === null) return null;
    const { skills, skipped } = await scanWorkspace(folder);
    const decisions = await store.decisions(whose.owner, folder);
    const listed = skills.map((skill) => ({
      ...skill,
      source: "workspace" as const,
      state: stateOf(skill, decisions),
    }));
    return { folder, skills: markShadowed(listed), skipped };
  }

  /** Reads only what is trusted, whatever else the workspace has. */
  async function trustedSkills(owner: OwnerId, folder: string): Promise<readonly AvailableSkill[]> {
    const decisions = await store.decisions(owner, folder);
    const trusted = decisions.filter(({ decision }) => decision === "trusted");
    const found = new Map<string, AvailableSkill>();
    for (const { path, hash } of trusted.toSorted(byWorkspaceFolder)) {
      const read = await readSkillFolder(folder, path);
      const isThat = read.ok && read.skill.hash === hash && !found.has(read.skill.name);
      if (isThat) found.set(read.skill.name, { ...read.skill, source: "workspace" });
    }
    return [...found.values()];
  }

  /** A workspace's skills come first: whoever trusted them wants them there. */
  async function available(whose: SessionRef): Promise<readonly AvailableSkill[]> {
    if (!(await mayUse(whose))) return [];
    const folder = await workspaces.locate(whose);
    const counting = folder === null ? [] : await trustedSkills(whose.owner, folder);
    const names = new Set(counting.map(({ name }) => name));
    const others = (await ownSkills(whose.owner)).filter(({ name }) => !names.has(name));
    return [...counting, ...others].toSorted((a, b) => (a.name < b.name ? -1 : 1));
  }

  return {
    installer: createSkillInstaller(home, deps.clone),
    available,
    listOwn,
    listWorkspace,
    async signature(whose) {
      if (!(await mayUse(whose))) return "";
      const folder = await workspaces.locate(whose);
      const decisions = folder === null ? [] : await store.decisions(whose.owner, folder);
      // Uses the decisions rather than the workspace's files: a file that is written there must not start a new frame.
      const trusted = decisions
        .filter(({ decision }) => decision === "trusted")
        .map(({ path, hash }) => `${path} ${hash}`);
      const mine = (await ownSkills(whose.owner)).map(({ name, hash }) => `${name} ${hash}`);
      const all = [...trusted, ...mine];
      return all.length === 0 ? "" : shortHash(all.join("\n"));
    },
    async text(whose) {
      return skillsBlock(await available(whose));
    },
    async find(whose, name) {
      const skills = await available(whose);
      const skill = skills.find((each) => each.name === name);
      if (skill !== undefined) return { status: "found", skill, mark: markOf(skill) };
      const changed = (await mayUse(whose)) ? (await listWorkspace(whose))?.skills : undefined;
      const reason = changed?.some((each) => each.name === name)
        ? `The skill ${name} is in the workspace, but nobody has trusted what it says now. Ask the person to look at it under Skills and to trust it.`
        : `There is no skill ${JSON.stringify(name)} here. ${namesOf(skills)}`;
      return { status: "refused", reason };
    },
    async switch(owner, name, to) {
      const { skills } = await listOwn(owner);
      if (!skills.some((skill) => skill.name === name)) return "not_found";
      await store.switch(owner, name, to);
      return "kept";
    },
    async remove(owner, name) {
      const named = (await listOwn(owner)).skills.filter((skill) => skill.name === name);
      const skill = named.find(({ source }) => source === "home");
      if (skill === undefined) return named.length === 0 ? "not_found" : "not_installed";
      await removeFolder(skill.root, skill.path);
      await store.switch(owner, name, "on");
      return "removed";
    },
    async decide(whose, word) {
      const listed = await listWorkspace(whose);
      const skill = listed?.skills.find(({ path }) => path === word.path);
      if (listed === null || skill === undefined) return "not_found";
      if (skill.hash !== word.hash) return "changed";
      await store.decide(whose.owner, listed.folder, word);
      return "kept";
    },
  };
}

/** The person's own folders. Those in the home of Holdfast come first. */
function ownFolders(
  home: string,
): readonly { readonly source: "home" | "agents"; readonly folder: string }[] {
  const installed = { source: "home", folder: join(home, "skills") } as const;
  // Only beside `~/.holdfast`: another home does not say whose folder this would be.
  if (basename(home) !== ".holdfast") return [installed];
  return [installed, { source: "agents", folder: join(dirname(home), ".agents/skills") }];
}

/** In the order in which a scan finds them. */
function byWorkspaceFolder(a: DecidedSkill, b: DecidedSkill): number {
  const rank = ({ path }: DecidedSkill) =>
    workspaceSkillFolders.findIndex((folder) => path.startsWith(`${folder}/`));
  return rank(a) - rank(b) || (a.path < b.path ? -1 : 1);
}

const removedPrefix = ".removed-";

/** The skill is gone at once, even if the host is killed while its files are deleted. */
async function removeFolder(root: string, path: string): Promise<void> {
  const leftovers = (await readdir(root)).filter((name) => name.startsWith(removedPrefix));
  const removed = `${removedPrefix}${randomBytes(8).toString("hex")}`;
  await rename(join(root, path), join(root, removed));
  for (const name of [...leftovers, removed])
    await rm(join(root, name), { recursive: true, force: true });
}

function stateOf(
  { path, hash }: ScannedSkill,
  decisions: readonly DecidedSkill[],
): ListedSkill["state"] {
  const decision = decisions.find((each) => each.path === path && each.hash === hash)?.decision;
  return decision === "trusted" ? "on" : (decision ?? "undecided");
}

/** Of skills with the same name, the first that is on is used. */
function markShadowed(skills: readonly Omit<ListedSkill, "shadowedBy">[]): readonly ListedSkill[] {
  return skills.map((skill) => {
    const counting = skills.find(({ name, state }) => name === skill.name && state === "on");
    const isShadowed = counting !== undefined && counting !== skill && skill.state === "on";
    return { ...skill, shadowedBy: isShadowed ? join(counting.root, counting.path) : null };
  });
}

function markOf({ name, source, path, hash }: AvailableSkill): SkillMark {
  return { name, source: source === "workspace" ? dirname(path).slice(0, 100) : source, hash };
}

function namesOf(skills: readonly AvailableSkill[]): string {
  return skills.length === 0
    ? "No skills are available in this session."
    : `Available are: ${skills.map(({ name }) => name).join(", ")}.`;
}
