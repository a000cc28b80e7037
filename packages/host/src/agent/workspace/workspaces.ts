import { mkdir } from "node:fs/promises";
import { join, resolve } from "node:path";

import type { SessionRow, Store, ToolPlace } from "@holdfast/engine";
import { type OwnerId, type SessionId, sessionId } from "@holdfast/protocol";

import { belowRoot } from "./resolve-path.ts";
import { Jail } from "./jail.ts";

export interface WorkspaceSettings {
  readonly home: string;
  /** Folders the operator allows: sessions may name workspaces below them. */
  readonly roots: readonly string[];
}

export interface Workspaces {
  /** Why this owner's session may not use this workspace, or `null`. */
  refusal(owner: OwnerId, name: string): Promise<string | null>;
  /**
   * The same, whether or not it exists; the session's own folder if it may not use the one it names. `null` if there is
   * no such session.
   */
  locate(session: SessionRef): Promise<string | null>;
  /** The folder of a session, without links. Exists when this resolves; rejects with a message otherwise. */
  folderFor(session: SessionRef): Promise<string>;
  /** The same, with the name that the workspace has on every host that shares the store. */
  placeFor(session: SessionRef): Promise<ToolPlace>;
}

interface SessionRef {
  readonly owner: OwnerId;
  readonly session: SessionId;
}

/** The folder of another session of the same owner. */
const sessionReference = /^session:(?<id>ses_[0-9a-z]+)$/;

const plainName = /^[\p{L}\p{N}_][\p{L}\p{N}._ -]{0,99}$/u;

/**
 * Where a session's tools work. By default it has its own folder in the home. A plain name is a folder shared by one
 * owner's sessions; `session:<id>` is another session's folder. A path must exist and be, with links resolved, below
 * one of the operator's roots.
 */
export function openWorkspaces(
  { home, roots }: WorkspaceSettings,
  { reads }: Pick<Store, "reads">,
): Workspaces {
  const own = join(resolve(home), "workspaces");

  /** Follows one reference to another session; a second one in a row is refused. */
  async function find(
    whose: SessionRef,
  ): Promise<{ readonly whose: SessionRef; name: string | null } | null> {
    const row = await reads.session(whose.owner, whose.session);
    if (row === null) return null;
    const other = await sessionNamed(whose.owner, row.workspace ?? "");
    if (other === null) return { whose, name: row.workspace };
    const isNamedAgain = sessionReference.test(other.workspace ?? "");
    return {
      whose: { owner: whose.owner, session: other.id },
      name: isNamedAgain ? null : other.workspace,
    };
  }

  async function sessionNamed(owner: OwnerId, name: string): Promise<SessionRow | null> {
    const id = sessionId.safeParse(sessionReference.exec(name)?.groups?.["id"]);
    return id.success ? reads.session(owner, id.data) : null;
  }

  /** A folder of ours, which may be created, or the operator's, which must exist. */
  function ownFolder({ owner, session }: SessionRef, name: string | null): ToolPlace | null {
    if (name === null) return { folder: join(own, session), workspace: `session:${session}` };
    if (!plainName.test(name)) return null;
    return { folder: join(own, ownerFolderName(owner), name), workspace: `shared:${name}` };
  }

  /** Reading requires no approval, and the home contains the token and the keys: no workspace may contain it. */
  async function findNamed(name: string): Promise<FoundFolder> {
    const found = await findBelowRoots(roots, name);
    if ("words" in found) return found;
    const real = await resolveFolder(home);
    const isHolding = "words" in real || belowRoot(found.folder, real.folder) !== null;
    if (!isHolding) return found;
    const words = `The workspace ${JSON.stringify(name)} holds the home of Holdfast, with its keys: name a folder beside it.`;
    return { words };
  }

  async function placeFor(asked: SessionRef): Promise<ToolPlace> {
    const place = await find(asked);
    if (place === null) throw new Error("There is no such session.");
    const ours = ownFolder(place.whose, place.name);
    const found = ours === null ? await findNamed(place.name ?? "") : await makeFolder(ours);
    if ("words" in found) throw new Error(found.words);
    return found;
  }

  return {
    async refusal(owner, name) {
      if (plainName.test(name)) return null;
      if (sessionReference.test(name))
        return (await sessionNamed(owner, name)) === null ? "There is no such session." : null;
      const found = await findNamed(name);
      return "words" in found ? found.words : null;
    },
    async locate(asked) {
      const place = await find(asked);
      if (place === null) return null;
      const ours = ownFolder(place.whose, place.name);
      if (ours !== null || place.name === null) return ours?.folder ?? null;
      const found = await findNamed(place.name);
      return "folder" in found ? found.folder : join(own, place.whose.session);
    },
    folderFor: async (asked) => (await placeFor(asked)).folder,
    placeFor,
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
    words: `The workspace ${JSON.stringify(name)} is not below a folder that the operator allows (workspaceRoots).`,
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
