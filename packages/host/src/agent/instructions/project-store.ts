import type { Register } from "@holdfast/engine";
import type { OwnerId } from "@holdfast/protocol";
import { z } from "zod";

import { promptBlock } from "../prompt-blocks.ts";
import { type EarlierText, openTextRows, tidyName, tidyText } from "./text-rows.ts";

const storedProject = z.looseObject({
  name: z.string(),
  /** Its instructions. */
  text: z.string(),
  workspace: z.string().nullable(),
  persona: z.string().nullable(),
  model: z.string().nullable(),
});
type StoredProject = z.infer<typeof storedProject>;

export interface Project extends StoredProject {
  readonly id: string;
  readonly changedAt: number;
  readonly version: number;
  readonly versions: readonly EarlierText[];
}

export interface ProjectSettings {
  readonly text?: string | undefined;
  readonly workspace?: string | null | undefined;
  readonly persona?: string | null | undefined;
  readonly model?: string | null | undefined;
}

interface ProjectRef {
  readonly id: string;
  readonly version?: number | undefined;
}

/** What each owner's sessions of one undertaking share. A session names its project, so a project keeps its name. */
export interface ProjectStore {
  /** By name. */
  list(owner: OwnerId): Promise<readonly Project[]>;
  find(owner: OwnerId, id: string): Promise<Project | null>;
  /** The one that a session means. */
  named(owner: OwnerId, name: string | null): Promise<Project | null>;
  add(
    owner: OwnerId,
    project: ProjectSettings & { readonly id: string; readonly name: string },
  ): Promise<Project | "name_taken" | "too_many">;
  change(
    owner: OwnerId,
    ref: ProjectRef,
    change: ProjectSettings,
  ): Promise<Project | "not_found" | "changed">;
  remove(owner: OwnerId, ref: ProjectRef): Promise<"removed" | "not_found" | "changed">;
}

const maxProjects = 500;

export function openProjectStore(register: Register): ProjectStore {
  const rows = openTextRows(register, "project/", storedProject);

  async function list(owner: OwnerId): Promise<readonly Project[]> {
    const found = (await rows.list(owner)).map(({ value, ...row }) => ({ ...value, ...row }));
    return found.toSorted((a, b) => a.name.localeCompare(b.name));
  }

  async function find(owner: OwnerId, id: string): Promise<Project | null> {
    const row = await rows.read(owner, id);
    return row && { ...row.value, ...row };
  }

  return {
    list,
    find,
    async named(owner, name) {
      if (name === null) return null;
      return (await list(owner)).find((project) => project.name === name) ?? null;
    },
    async add(owner, { id, name: given, ...settings }) {
      const known = await list(owner);
      const repeated = known.find((project) => project.id === id);
      if (repeated !== undefined) return repeated;
      const name = tidyName(given);
      if (known.some((project) => project.name.toLowerCase() === name.toLowerCase()))
        return "name_taken";
      if (known.length >= maxProjects) return "too_many";
      const { text = "", workspace = null, persona = null, model = null } = settings;
      const value = { name, text: tidyText(text), workspace, persona, model };
      const row = await rows.put(owner, { id, expect: 0 }, value);
      return row === "changed" ? "name_taken" : { ...row.value, ...row };
    },
    async change(owner, { id, version }, change) {
      const known = await find(owner, id);
      if (known === null) return "not_found";
      const next: StoredProject = {
        name: known.name,
        text: change.text === undefined ? known.text : tidyText(change.text),
        workspace: change.workspace === undefined ? known.workspace : change.workspace,
        persona: change.persona === undefined ? known.persona : change.persona,
        model: change.model === undefined ? known.model : change.model,
      };
      const fields = ["text", "workspace", "persona", "model"] as const;
      // Nothing to change, or a repeated request.
      if (fields.every((field) => next[field] === known[field])) return known;
      if (known.version !== version) return "changed";
      const row = await rows.put(owner, { id, expect: version }, next);
      return row === "changed" ? row : { ...row.value, ...row };
    },
    async remove(owner, { id, version }) {
      const known = await find(owner, id);
      if (known === null) return "not_found";
      if (version !== undefined && known.version !== version) return "changed";
      return rows.remove(owner, { id, expect: known.version });
    },
  };
}

/** A project's instructions, as its sessions start with them. */
export function projectText(project: Project | null): string {
  return project === null || project.text === "" ? "" : promptBlock("project", project.text);
}
