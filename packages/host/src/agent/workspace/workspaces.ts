import { mkdir } from "node:fs/promises";
import { join, resolve } from "node:path";

import type { SessionRow, Store } from "@holdfast/engine";
import { type OwnerId, type SessionId, sessionId } from "@holdfast/protocol";

import { belowRoot } from "./resolve-path.ts";
import { Jail } from "./jail.ts";

export interface WorkspaceSettings {
  readonly home: string;
  /** Folders of the operator's choice: below them a session may work where it names it. */
  readonly roots: readonly string[];
}

export interface Workspaces {
  /** Whether a session of this owner may name this as its workspace; why not, in words. */
  refusal(owner: OwnerId, named: string): Promise<string | null>;
  /** The same, whether or not it is there; the session's own when it may not be the one that it names. `null`: no such session. */
  locate(of: SessionRef): Promise<string | null>;
  /** The folder of a session, without links. It is there when this resolves; it rejects with words when it cannot be. */
  folderFor(of: SessionRef): Promise<string>;
}

interface SessionRef {
  readonly owner: OwnerId;
  readonly session: SessionId;
}

/** The folder of another session of the same owner. */
const sessionReference = /^session:(?<id>ses_[0-9a-z]+)$/;

const plainName = /^[\p{L}\p{N}_][\p{L}\p{N}._ -]{0,99}$/u;

/**
 * Where a session's tools work. Without a name it has a folder of its own in the home. A plain name is a folder that
 * sessions of one owner share; `session:<id>` is where another session works. A path is taken when it is there and lies, links followed, below a root of the operator's.
 */
export function openWorkspaces(
  { home, roots }: WorkspaceSettings,
  { reads }: Pick<Store, "reads">,
): Workspaces {
  const own = join(resolve(home), "workspaces");

  /** A session that works where another does, and that one where it says itself: a second such word leads nowhere. */
  async function find(
    whose: SessionRef,
  ): Promise<{ readonly whose: SessionRef; named: string | null } | null> {
    const row = await reads.session(whose.owner, whose.session);
    if (row === null) return null;
    const other = await sessionNamed(whose.owner, row.workspace ?? "");
    if (other === null) return { whose, named: row.workspace };
    const isNamedAgain = sessionReference.test(other.workspace ?? "");
    return {
      whose: { owner: whose.owner, session: other.id },
      named: isNamedAgain ? null : other.workspace,
    };
  }

  async function sessionNamed(owner: OwnerId, named: string): Promise<SessionRow | null> {
    const id = sessionId.safeParse(sessionReference.exec(named)?.groups?.["id"]);
    return id.success ? reads.session(owner, id.data) : null;
  }

  /** Ours to make, or the operator's, which has to be there. */
  function ownFolder({ owner, session }: SessionRef, named: string | null): string | null {
    if (named === null) return join(own, session);
    return plainName.test(named) ? join(own, ownerFolderName(owner), named) : null;
  }

  /** Reading asks nobody, and in the home lie the token and the keys: no workspace holds them. */
  async function findNamed(named: string): Promise<FoundFolder> {
    const found = await findBelowRoots(roots, named);
    if ("words" in found) return found;
    const real = await resolveFolder(home);
    const isHolding = "words" in real || belowRoot(found.folder, real.folder) !== null;
    if (!isHolding) return found;
    const words = `The workspace ${JSON.stringify(named)} holds the home of Holdfast, with its keys: name a folder beside it.`;
    return { words };
  }

  return {
    async refusal(owner, named) {
      if (plainName.test(named)) return null;
      if (sessionReference.test(named))
        return (await sessionNamed(owner, named)) === null ? "There is no such session." : null;
      const found = await findNamed(named);
      return "words" in found ? found.words : null;
    },
    async locate(asked) {
      const place = await find(asked);
      if (place === null) return null;
      const folder = ownFolder(place.whose, place.named);
      if (folder !== null || place.named === null) return folder;
      const found = await findNamed(place.named);
      return "folder" in found ? found.folder : join(own, place.whose.session);
    },
    async folderFor(asked) {
      const place = await find(asked);
      if (place === null) throw new Error("There is no such session.");
      const folder = ownFolder(place.whose, place.named);
      const found = folder === null ? await findNamed(place.named ?? "") : await makeFolder(folder);
      if ("words" in found) throw new Error(found.words);
      return found.folder;
    },
  };
}

type FoundFolder = { readonly folder: string } | { readonly words: string };

async function makeFolder(folder: string): Promise<FoundFolder> {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  return resolveFolder(folder);
}

async function findBelowRoots(roots: readonly string[], named: string): Promise<FoundFolder> {
  const found = await resolveFolder(named.startsWith("/") ? named : resolve("/", named));
  if ("words" in found) return found;
  for (const each of roots) {
    const root = await Jail.open(each);
    if (root.ok && belowRoot(root.value.root, found.folder) !== null) return found;
  }
  return {
    words: `The workspace ${JSON.stringify(named)} is not below a folder that the operator allows (workspaceRoots).`,
  };
}

async function resolveFolder(folder: string): Promise<FoundFolder> {
  const jail = await Jail.open(folder);
  return jail.ok ? { folder: jail.value.root } : { words: `The workspace ${jail.refusal.message}` };
}

/** Two owners may give one name; they do not get one folder. */
function ownerFolderName(owner: OwnerId): string {
  return `of-${Buffer.from(owner, "utf8").toString("hex")}`;
}
