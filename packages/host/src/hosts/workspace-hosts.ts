import { type Store, StoreFailure } from "@holdfast/engine";
import { ownerId } from "@holdfast/protocol";
import { z } from "zod";
import type { Hosts, KnownHost } from "./hosts.ts";

/** Where the files of a workspace are. */
export type WorkspaceSite =
  /** Nobody has needed it yet. */
  | { readonly at: "nowhere" }
  | { readonly at: "here"; readonly epoch: number }
  /** On another host, which is up. */
  | { readonly at: "elsewhere"; readonly host: KnownHost }
  /** On a host that has not been heard from lately. */
  | { readonly at: "lost"; readonly host: LostHost; readonly epoch: number };

export type LostHost = Pick<KnownHost, "id" | "name"> & { readonly seenAt: number | null };

/** Which host has each workspace, in the store that the hosts share. */
export interface WorkspaceHosts {
  siteOf(workspace: string): Promise<WorkspaceSite>;
  /** The same. A workspace that is nowhere is here from now on, unless no agent runs on this host. */
  claim(workspace: string): Promise<WorkspaceSite>;
  /** A person names a folder of this host: wherever it was, the workspace is here from now on. */
  bind(workspace: string): Promise<void>;
  /**
   * A person gives up the files of a lost host: the workspace is here from now on, and empty. Resolves to where it is,
   * which is elsewhere if it was not lost, or if another host was faster.
   */
  takeOver(workspace: string): Promise<WorkspaceSite>;
  /** A host where agents run, for a workspace that is nowhere. Null: this one, or none is up. */
  otherRunner(): Promise<KnownHost | null>;
}

/** The files of a session are not on this host. */
export class WorkspaceElsewhere extends Error {
  override readonly name = "WorkspaceElsewhere";
}

const workspaceRow = z.object({
  host: z.string(),
  /** Counts the hosts that have had it: a copy of an earlier epoch is stale. */
  epoch: z.int().positive(),
});
type WorkspaceRow = z.infer<typeof workspaceRow> & { readonly revision: number };

/** Rows are read by their key and never listed: there may be millions. */
const owner = ownerId.parse("holdfast:workspaces");

export function openWorkspaceHosts(
  { register }: Pick<Store, "register">,
  hosts: Hosts,
  runsHere: boolean,
): WorkspaceHosts {
  async function read(workspace: string): Promise<WorkspaceRow | null> {
    const row = await register.read(owner, workspace);
    return row === null ? null : decode(row);
  }

  async function siteOf(row: WorkspaceRow | null): Promise<WorkspaceSite> {
    if (row === null) return { at: "nowhere" };
    const { host: id, epoch } = row;
    if (id === (await hosts.id())) return { at: "here", epoch };
    const host = await hosts.find(id);
    if (host?.isUp === true) return { at: "elsewhere", host };
    return { at: "lost", host: host ?? { id, name: "unknown", seenAt: null }, epoch };
  }

  /** `null`: somebody else was faster. */
  async function put(workspace: string, known: WorkspaceRow | null): Promise<WorkspaceRow | null> {
    const value = { host: await hosts.id(), epoch: (known?.epoch ?? 0) + 1 };
    const expect = known?.revision ?? 0;
    const change = { owner, key: workspace, value: JSON.stringify(value), expect };
    const result = await register.put(change);
    if (result.status === "failed") throw new StoreFailure(result.code, result.message);
    return result.status === "put" ? decode(result.row) : null;
  }

  /** Also where only another process of this home runs agents. */
  async function hasRunner(): Promise<boolean> {
    return runsHere || (await hosts.find(await hosts.id()))?.runs === true;
  }

  return {
    siteOf: async (workspace) => siteOf(await read(workspace)),
    async claim(workspace) {
      const row = await read(workspace);
      if (row !== null || !(await hasRunner())) return siteOf(row);
      return siteOf((await put(workspace, null)) ?? (await read(workspace)));
    },
    async bind(workspace) {
      const id = await hosts.id();
      for (;;) {
        const row = await read(workspace);
        if (row?.host === id || (await put(workspace, row)) !== null) return;
      }
    },
    async takeOver(workspace) {
      const row = await read(workspace);
      const site = await siteOf(row);
      if (site.at !== "lost" || !(await hasRunner())) return site;
      return siteOf((await put(workspace, row)) ?? (await read(workspace)));
    },
    async otherRunner() {
      if (await hasRunner()) return null;
      return (await hosts.all()).find(({ isUp, runs }) => isUp && runs) ?? null;
    },
  };
}

/** Why a session's files cannot be used here, and what to do next. */
export function describeSite(site: Exclude<WorkspaceSite, { readonly at: "here" }>): string {
  switch (site.at) {
    case "nowhere":
      return "No host that runs agents is up, and the files of this conversation will be on one: start a host with the role runner.";
    case "elsewhere":
      return `The files of this conversation are on the host ${site.host.name}, which cannot be reached from here. Check that every host has the same HOLDFAST_SECRETS_KEY, and an address that the others can reach (HOLDFAST_INTERNAL_ADDRESS).`;
    case "lost": {
      const { name, seenAt } = site.host;
      const since = seenAt === null ? "" : ` since ${new Date(seenAt).toISOString()}`;
      return `The files of this conversation are on the host ${name}, which has not been heard from${since}. Start that host again, then retry; or give these files up, and continue with an empty folder: holdfast workspaces take-over, with the id of the conversation.`;
    }
  }
}

function decode(row: { readonly value: string; readonly revision: number }): WorkspaceRow | null {
  try {
    const value = workspaceRow.safeParse(JSON.parse(row.value)).data;
    return value === undefined ? null : { ...value, revision: row.revision };
  } catch {
    return null;
  }
}
