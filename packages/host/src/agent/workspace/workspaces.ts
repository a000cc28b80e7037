import { mkdir, rename, rm } from "node:fs/promises";
import { join, relative, resolve } from "node:path";

import type { SessionRow, Store, ToolPlace } from "@holdfast/engine";
import { type AllowedFolder, type OwnerId, type SessionId, sessionId } from "@holdfast/protocol";

import { owner as operator } from "../../server/auth/authenticator.ts";
import {
  type AllowedFolders,
  containsPersonFolder,
  openAllowedFolders,
} from "./allowed-folders.ts";
import {
  describeSite,
  WorkspaceElsewhere,
  type WorkspaceHosts,
} from "../../hosts/workspace-hosts.ts";
import { systemCode } from "../../util/outcome.ts";
import { belowRoot } from "./resolve-path.ts";
import { Jail } from "./jail.ts";
import {
  folderOfWorktree,
  readWorktree,
  sharedGitFolder,
  worktreeIdOf,
} from "../worktrees/worktree-record.ts";

export interface WorkspaceSettings {
  readonly home: string;
  /** Folders the operator allows: sessions may name workspaces below them. */
  readonly roots: readonly string[];
  /** What the owner has allowed where the operator names no roots; by default what is kept in the home. */
  readonly allowed?: AllowedFolders;
  /** The person's own home folder. */
  readonly person?: string;
  /** Which host has each workspace, where several share the store. */
  readonly hosts?: WorkspaceHosts;
  /** Those of the roots that every host sees. */
  readonly sharedRoots?: readonly string[];
}

/** Whether a session may work in a folder. `askable`: once the owner says yes. */
export type FolderState =
  | { readonly state: "allowed" }
  | { readonly state: "askable"; readonly folder: string; readonly reason: string }
  | { readonly state: "refused"; readonly reason: string };

export interface Workspaces {
  /** Whether a name stands for a folder of the operator, and not for one that Holdfast keeps for its owner. */
  isOperators(name: string): boolean;
  /** Why this owner's session may not use this workspace, or `null`. */
  refusal(owner: OwnerId, name: string): Promise<string | null>;
  /**
   * The same, whether or not it exists; the session's own folder if it may not use the one it names. `null` if there is
   * no such session.
   */
  locate(session: SessionRef): Promise<string | null>;
  /**
   * Deletes the folders that only a purged session worked in: its own, and that of a session purged earlier which it
   * named as its workspace.
   */
  removeUnusedFolders(purged: SessionRef, workspace: string | null): Promise<void>;
  /** Before files are put into the session's folder: no other host has it from then on. Rejects if one has. */
  claim(session: SessionRef): Promise<void>;
  /**
   * The folder of a session, without links, claimed for this host. Exists when this resolves; rejects with a message
   * otherwise.
   */
  folderFor(session: SessionRef): Promise<string>;
  /** The same, not claimed, with the name that the workspace has on every host that shares the store. */
  placeFor(session: SessionRef): Promise<ToolPlace>;
  /**
   * The session's workspace among those of all hosts. Null if it is on every host, or if there is no such session.
   */
  rowOf(session: SessionRef): Promise<string | null>;
  /**
   * What this host still has of the session's folder, from before another host had it, is kept aside. Null if the folder
   * is not Holdfast's own.
   */
  setStaleAside(session: SessionRef): Promise<"aside" | null>;
  /** A person has chosen a folder of this host for the session: its files are here. */
  bind(session: SessionRef): Promise<void>;
  /** Whether the owner's sessions may name this folder. */
  checkFolder(owner: OwnerId, path: string): Promise<FolderState>;
  /** The owner's yes, kept on this machine. */
  allowFolder(
    path: string,
  ): Promise<
    | { readonly status: "allowed"; readonly folder: AllowedFolder }
    | { readonly status: "refused"; readonly reason: string }
  >;
  /** The folder of git that commands in this place also need, if it is a worktree of this home. */
  sharedGit(place: string): Promise<string | null>;
  readonly roots: readonly string[];
  readonly allowed: Pick<AllowedFolders, "list" | "remove">;
}

interface SessionRef {
  readonly owner: OwnerId;
  readonly session: SessionId;
}

/** The session that a workspace belongs to, and what that session calls it. */
interface FoundPlace {
  readonly whose: SessionRef;
  readonly name: string | null;
}

/** The folder of another session of the same owner. */
const sessionReference = /^session:(?<id>ses_[0-9a-z]+)$/;

function referencedSession(name: string | null): SessionId | null {
  const id = sessionId.safeParse(sessionReference.exec(name ?? "")?.groups?.["id"]);
  return id.success ? id.data : null;
}

const plainName = /^[\p{L}\p{N}_][\p{L}\p{N}._ -]{0,99}$/u;

/**
 * Where a session's tools work. By default it has its own folder in the home. A plain name is a folder shared by one
 * owner's sessions; `session:<id>` is another session's folder. A path must exist and be, with links resolved, below
 * one of the operator's roots or, where there are none, below a folder that the owner has allowed.
 */
export function openWorkspaces(
  settings: WorkspaceSettings,
  { reads }: Pick<Store, "reads">,
): Workspaces {
  const { home, roots, allowed = openAllowedFolders(home), person } = settings;
  const { hosts, sharedRoots = [] } = settings;
  const own = join(resolve(home), "workspaces");

  /** Follows one reference to another session; a second one in a row is refused. */
  async function find(whose: SessionRef): Promise<FoundPlace | null> {
    const row = await reads.session(whose.owner, whose.session);
    if (row === null) return null;
    const named = referencedSession(row.workspace);
    if (named === null) return { whose, name: row.workspace };
    const other = await reads.session(whose.owner, named);
    // It was this owner's when it was named. It was purged since, and its folder kept for this session.
    if (other === null) return { whose: { owner: whose.owner, session: named }, name: null };
    const isNamedAgain = sessionReference.test(other.workspace ?? "");
    return {
      whose: { owner: whose.owner, session: other.id },
      name: isNamedAgain ? null : other.workspace,
    };
  }

  async function sessionNamed(owner: OwnerId, name: string): Promise<SessionRow | null> {
    const id = referencedSession(name);
    return id === null ? null : reads.session(owner, id);
  }

  async function isWorkedIn({ owner, session }: SessionRef): Promise<boolean> {
    if ((await reads.session(owner, session)) !== null) return true;
    const workspace = `session:${session}`;
    for (const shelf of ["active", "archived", "trash"] as const) {
      const { sessions } = await reads.sessions(owner, { shelf, workspace, limit: 1 });
      if (sessions.length > 0) return true;
    }
    return false;
  }

  /** A folder of ours, which may be created, or the operator's, which must exist. */
  function ownFolder({ owner, session }: SessionRef, name: string | null): ToolPlace | null {
    if (name === null) return { folder: join(own, session), workspace: `session:${session}` };
    if (!plainName.test(name)) return null;
    return { folder: join(own, ownerFolderName(owner), name), workspace: `shared:${name}` };
  }

  /**
   * Reading requires no approval, and the home contains the token and the keys: no named workspace may contain it, be it
   * or be inside it. Sessions have their own folders there, which they name by session or by a plain name.
   */
  async function findNamed(owner: OwnerId, name: string): Promise<FoundFolder> {
    const worktree = worktreeIdOf(name);
    if (worktree !== null) return findWorktree(owner, worktree, name);
    const found = await findBelowRoots(await rootsOf(owner), name);
    return "words" in found ? found : ((await overlapWithHome(found.folder, name)) ?? found);
  }

  /** It counts as long as its repository does. */
  async function findWorktree(owner: OwnerId, id: string, name: string): Promise<FoundFolder> {
    const record = await readWorktree(home, id);
    if (record === null || record.owner !== owner || record.state === "removing")
      return { words: "This session's worktree no longer exists. Choose another folder." };
    const repository = await findNamed(owner, record.repository);
    if ("words" in repository) return repository;
    const real = await resolveFolder(folderOfWorktree(home, id));
    return "words" in real ? real : { folder: real.folder, workspace: name };
  }

  /** The yes was given for the owner's own sessions, not for those of an API key. */
  async function rootsOf(owner: OwnerId): Promise<readonly string[]> {
    if (roots.length > 0 || owner !== operator) return roots;
    const folders = await Promise.all(
      (await allowed.list()).map(async ({ path }) => {
        const real = await resolveFolder(path);
        // What is there now may be a link, or contain more than when the yes was given.
        const isSame = "folder" in real && real.folder === path;
        return isSame && !(await containsPersonFolder(path, person)) ? [path] : [];
      }),
    );
    return folders.flat();
  }

  async function overlapWithHome(
    folder: string,
    name: string,
  ): Promise<{ readonly words: string } | null> {
    const real = await resolveFolder(home);
    const overlaps =
      "words" in real ||
      belowRoot(folder, real.folder) !== null ||
      belowRoot(real.folder, folder) !== null;
    if (!overlaps) return null;
    const words = `The workspace ${JSON.stringify(name)} contains the home of Holdfast, where its keys are, or is inside it: name another folder.`;
    return { words };
  }

  /** The folder without links, or why no yes can allow it. */
  async function askableFolder(path: string): Promise<FoundFolder> {
    if (roots.length > 0)
      return {
        words: `The operator names where sessions may work (workspaceRoots: ${roots.join(", ")}): choose a folder below one of these.`,
      };
    const real = await resolveFolder(path);
    if ("words" in real) return real;
    const overlap = await overlapWithHome(real.folder, path);
    if (overlap !== null) return overlap;
    if (await containsPersonFolder(real.folder, person))
      return {
        words: `${JSON.stringify(path)} contains your home folder, with everything that is yours: choose a project's folder.`,
      };
    return { folder: real.folder, workspace: `root:${real.folder}` };
  }

  /** A path means another folder on each host, so each session that names one has a row of its own. */
  function rowAt({ whose: { owner, session }, name }: FoundPlace): string | null {
    if (name === null) return `session:${session}`;
    if (plainName.test(name)) return `shared:${ownerFolderName(owner)}/${name}`;
    if (worktreeIdOf(name) !== null) return name;
    const path = resolve("/", name);
    const isShared = sharedRoots.some((root) => path === root || path.startsWith(`${root}/`));
    return isShared ? null : `path:${session}`;
  }

  /** From the first claim on the files are here. Rejects if they are on another host. */
  async function claim(asked: SessionRef): Promise<void> {
    const place = hosts === undefined ? null : await find(asked);
    const row = place === null ? null : rowAt(place);
    const site = row === null ? undefined : await hosts?.claim(row);
    if (site !== undefined && site.at !== "here") throw new WorkspaceElsewhere(describeSite(site));
  }

  async function placeFor(asked: SessionRef): Promise<ToolPlace> {
    const place = await find(asked);
    if (place === null) throw new Error("There is no such session.");
    const row = rowAt(place);
    const site = row === null ? undefined : await hosts?.siteOf(row);
    if (site?.at === "elsewhere" || site?.at === "lost")
      throw new WorkspaceElsewhere(describeSite(site));
    const ours = ownFolder(place.whose, place.name);
    const found =
      ours === null ? await findNamed(asked.owner, place.name ?? "") : await makeFolder(ours);
    if ("words" in found) throw new Error(found.words);
    return found;
  }

  return {
    isOperators: (name) => !plainName.test(name) && !sessionReference.test(name),
    async refusal(owner, name) {
      if (plainName.test(name)) return null;
      if (sessionReference.test(name))
        return (await sessionNamed(owner, name)) === null ? "There is no such session." : null;
      const found = await findNamed(owner, name);
      return "words" in found ? found.words : null;
    },
    async locate(asked) {
      const place = await find(asked);
      if (place === null) return null;
      const ours = ownFolder(place.whose, place.name);
      if (ours !== null || place.name === null) return ours?.folder ?? null;
      const found = await findNamed(asked.owner, place.name);
      return "folder" in found ? found.folder : join(own, place.whose.session);
    },
    async removeUnusedFolders({ owner, session: purged }, workspace) {
      const named = referencedSession(workspace);
      for (const session of named === null ? [purged] : [purged, named])
        if (!(await isWorkedIn({ owner, session })))
          for (const folder of [join(own, session), join(own, "stale", session)])
            await rm(folder, { recursive: true, force: true });
    },
    async folderFor(asked) {
      await claim(asked);
      return (await placeFor(asked)).folder;
    },
    placeFor,
    claim,
    async rowOf(asked) {
      const place = await find(asked);
      return place === null ? null : rowAt(place);
    },
    async setStaleAside(asked) {
      const place = await find(asked);
      const ours = place === null ? null : ownFolder(place.whose, place.name);
      if (ours === null) return null;
      const aside = join(own, "stale", relative(own, ours.folder));
      await mkdir(aside, { recursive: true, mode: 0o700 });
      await rename(ours.folder, join(aside, String(Date.now()))).catch((error: unknown) => {
        if (systemCode(error) !== "ENOENT") throw error;
      });
      return "aside";
    },
    async bind(asked) {
      const place = await find(asked);
      const row = place === null ? null : rowAt(place);
      if (row !== null && /^(?:path|worktree):/.test(row)) await hosts?.bind(row);
    },
    async checkFolder(owner, path) {
      const found = await findNamed(owner, path);
      if (!("words" in found)) return { state: "allowed" };
      if (owner !== operator) return { state: "refused", reason: found.words };
      const askable = await askableFolder(path);
      if ("words" in askable) return { state: "refused", reason: askable.words };
      return { state: "askable", folder: askable.folder, reason: found.words };
    },
    async allowFolder(path) {
      const askable = await askableFolder(path);
      if ("words" in askable) return { status: "refused", reason: askable.words };
      return { status: "allowed", folder: await allowed.add(askable.folder) };
    },
    sharedGit: (place) => sharedGitFolder(home, place),
    roots,
    allowed,
  };
}

type FoundFolder = ToolPlace | { readonly words: string };

async function makeFolder({ folder, workspace }: ToolPlace): Promise<FoundFolder> {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const real = await resolveFolder(folder);
  return "words" in real ? real : { folder: real.folder, workspace };
}

/** Named after the root as the operator wrote it, which may link to a different disk on each host. */
async function findBelowRoots(roots: readonly string[], name: string): Promise<FoundFolder> {
  const found = await resolveFolder(name.startsWith("/") ? name : resolve("/", name));
  if ("words" in found) return found;
  for (const each of roots) {
    const root = await Jail.open(each);
    const path = root.ok ? belowRoot(root.value.root, found.folder) : null;
    if (path !== null) return { folder: found.folder, workspace: `root:${join(each, path)}` };
  }
  return {
    words: `The workspace ${JSON.stringify(name)} is not below a folder that the operator allows (workspaceRoots), nor below one that you have allowed (holdfast workspaces allow).`,
  };
}

async function resolveFolder(
  folder: string,
): Promise<{ readonly folder: string } | { readonly words: string }> {
  const jail = await Jail.open(folder);
  return jail.ok ? { folder: jail.value.root } : { words: `The workspace ${jail.refusal.message}` };
}

/** Two owners may use the same name and get different folders. */
function ownerFolderName(owner: OwnerId): string {
  return `of-${Buffer.from(owner, "utf8").toString("hex")}`;
}
