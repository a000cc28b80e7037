import type { FilesRestored, KeptReason } from "@holdfast/protocol";

import { mapParallel } from "../../util/map-parallel.ts";
import type { Jail } from "../workspace/jail.ts";
import type { FileSnapshots, SavedChange, SavedState } from "./file-snapshots.ts";
import { isExecutable } from "./git-index.ts";
import { isSameState, saveState } from "./save-changes.ts";

export interface Restored {
  /** What was changed, as the log records it, so that it can be undone. */
  readonly changes: readonly SavedChange[];
  readonly kept: readonly { readonly path: string; readonly reason: KeptReason }[];
}

/**
 * Brings each file from one state to another. It may be repeated after a crash at any point: a file that is there
 * already is done, and one that is neither was changed by somebody else and is left.
 */
export async function restoreFiles(
  snapshots: FileSnapshots,
  jail: Jail,
  wanted: readonly SavedChange[],
): Promise<Restored> {
  const changes: SavedChange[] = [];
  const kept: Restored["kept"][number][] = [];
  // A folder of new files may have to make room for a file of its name.
  const deletions = wanted.filter(({ after }) => after === null);
  const others = wanted.filter(({ after }) => after !== null);
  for (const group of [deletions, others]) {
    const reasons = await mapParallel(group, parallelFiles, (change) =>
      restoreFile(snapshots, jail, change),
    );
    for (const [at, change] of group.entries()) {
      const reason = reasons[at] ?? null;
      if (reason === null) changes.push(change);
      else kept.push({ path: change.path, reason });
    }
  }
  return { changes, kept };
}

/** Most of the time is spent waiting for the disk. */
const parallelFiles = 8;

async function restoreFile(
  snapshots: FileSnapshots,
  jail: Jail,
  { path, before, after }: SavedChange,
): Promise<KeptReason | null> {
  // Saved once more: nothing that was in a file is lost, whatever happened to it meanwhile.
  const current = await saveState(snapshots, jail, path);
  if (current.kind === "refused") return "failed";
  if (isSameState(current.state, after)) return null;
  if (!isSameState(current.state, before)) return "changed";
  if (after === null) return (await jail.remove(path)).ok ? null : "failed";
  const content = await snapshots.get(snapshots.workspaceOf(jail.root), after.id);
  if (content === null) return "lost";
  const write = () => jail.write(path, content, "replace", (mode) => modeFor(after, mode));
  if ((await write()).ok) return null;
  // A folder whose files were deleted just now may stand in its place.
  return (await jail.removeEmptyFolder(path)) && (await write()).ok ? null : "failed";
}

/** The permissions of a file that is there stay, except whether it can be run. */
function modeFor(wanted: SavedState, present: number | null): number {
  if (present === null) return wanted.mode;
  return isExecutable(wanted.mode) ? present | ((present & 0o444) >> 2) : present & ~0o111;
}

const maxListed = 50;
const maxListedLength = 400;

/** What people are told; the log keeps the whole list with the files. */
export function summarize({ changes, kept }: Restored): FilesRestored {
  const isShort = (path: string): boolean => path.length <= maxListedLength;
  return {
    restored: changes
      .map(({ path }) => path)
      .filter(isShort)
      .slice(0, maxListed),
    count: changes.length,
    kept: kept.filter(({ path }) => isShort(path)).slice(0, maxListed),
  };
}
