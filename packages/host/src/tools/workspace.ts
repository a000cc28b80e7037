import { mkdir } from "node:fs/promises";
import { join, resolve } from "node:path";

import type { Store } from "@holdfast/engine";
import type { OwnerId, SessionId } from "@holdfast/protocol";

import { belowRoot, Jail } from "../paths/index.ts";

export interface WorkspaceParts {
  readonly home: string;
  /** Folders of the operator's choice: below them a session may work where it names it. */
  readonly roots: readonly string[];
}

export interface Workspaces {
  /** Whether a session of this owner may name this as its workspace; why not, in words. */
  refusal(owner: OwnerId, named: string): Promise<string | null>;
  /** The same, whether or not it is there; the session's own when it may not be the one that it names. `null`: no such session. */
  where(of: Whose): Promise<string | null>;
  /** The folder of a session, without links. It is there when this resolves; it rejects with words when it cannot be. */
  folderFor(of: Whose): Promise<string>;
}

interface Whose {
  readonly owner: OwnerId;
  readonly session: SessionId;
}

const plainName = /^[\p{L}\p{N}_][\p{L}\p{N}._ -]{0,99}$/u;

/**
 * Where a session's tools work. Without a name it has a folder of its own in the home. A plain name is a folder that
 * sessions of one owner share. A path is taken when it is there and lies, links followed, below a root of the operator's.
 */
export function openWorkspaces(
  { home, roots }: WorkspaceParts,
  { reads }: Pick<Store, "reads">,
): Workspaces {
  const own = join(resolve(home), "workspaces");

  /** Ours to make, or the operator's, which has to be there. */
  function ownFolder({ owner, session }: Whose, named: string | null): string | null {
    if (named === null) return join(own, session);
    return plainName.test(named) ? join(own, folderNameOf(owner), named) : null;
  }

  /** Reading asks nobody, and in the home lie the token and the keys: no workspace holds them. */
  async function findNamed(named: string): Promise<FoundFolder> {
    const found = await findBelowRoots(roots, named);
    if ("words" in found) return found;
    const real = await resolved(home);
    const isHolding = "words" in real || belowRoot(found.folder, real.folder) !== null;
    if (!isHolding) return found;
    const words = `The workspace ${JSON.stringify(named)} holds the home of Holdfast, with its keys: name a folder beside it.`;
    return { words };
  }

  return {
    async refusal(_owner, named) {
      if (plainName.test(named)) return null;
      const found = await findNamed(named);
      return "words" in found ? found.words : null;
    },
    async where(whose) {
      const row = await reads.session(whose.owner, whose.session);
      if (row === null) return null;
      const folder = ownFolder(whose, row.workspace);
      if (folder !== null || row.workspace === null) return folder;
      const found = await findNamed(row.workspace);
      return "folder" in found ? found.folder : join(own, whose.session);
    },
    async folderFor(whose) {
      const row = await reads.session(whose.owner, whose.session);
      if (row === null) throw new Error("There is no such session.");
      const folder = ownFolder(whose, row.workspace);
      const found =
        folder === null ? await findNamed(row.workspace ?? "") : await makeFolder(folder);
      if ("words" in found) throw new Error(found.words);
      return found.folder;
    },
  };
}

type FoundFolder = { readonly folder: string } | { readonly words: string };

async function makeFolder(folder: string): Promise<FoundFolder> {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  return resolved(folder);
}

async function findBelowRoots(roots: readonly string[], named: string): Promise<FoundFolder> {
  const found = await resolved(named.startsWith("/") ? named : resolve("/", named));
  if ("words" in found) return found;
  for (const each of roots) {
    const root = await Jail.open(each);
    if (root.ok && belowRoot(root.value.root, found.folder) !== null) return found;
  }
  return {
    words: `The workspace ${JSON.stringify(named)} is not below a folder that the operator allows (workspaceRoots).`,
  };
}

async function resolved(folder: string): Promise<FoundFolder> {
  const jail = await Jail.open(folder);
  return jail.ok ? { folder: jail.value.root } : { words: `The workspace ${jail.refusal.words}` };
}

/** Two owners may give one name; they do not get one folder. */
function folderNameOf(owner: OwnerId): string {
  return `of-${Buffer.from(owner, "utf8").toString("hex")}`;
}
