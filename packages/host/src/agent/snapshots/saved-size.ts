import { readdir, readFile, stat } from "node:fs/promises";
import { join } from "node:path";

import { z } from "zod";

import { writeFileAtomically } from "../../util/atomic-file.ts";

/** A stored file or tree. */
interface SavedObject {
  readonly workspace: string;
  readonly path: string;
  readonly bytes: number;
  readonly writtenAt: number;
}

const workspaceName = /^[0-9a-f]{32}$/;
const objectFolder = /^[0-9a-f]{2}$/;

/** Everything that is saved, in all workspaces. */
export async function listSaved(folder: string): Promise<readonly SavedObject[]> {
  const found: SavedObject[] = [];
  for (const workspace of await namesIn(folder)) {
    if (!workspaceName.test(workspace)) continue;
    const objects = join(folder, workspace, "objects");
    for (const group of await namesIn(objects)) {
      if (!objectFolder.test(group)) continue;
      for (const name of await namesIn(join(objects, group))) {
        const path = join(objects, group, name);
        const info = await stat(path).catch(() => null);
        if (info?.isFile() === true)
          found.push({ workspace, path, bytes: info.size, writtenAt: info.mtimeMs });
      }
    }
  }
  return found;
}

export function sizeOf(saved: readonly SavedObject[]): number {
  return saved.reduce((sum, { bytes }) => sum + bytes, 0);
}

/** What is saved within this time may belong to a command that is running. */
const youngMs = 15 * 60_000;
/** Room is made for a while. */
const keptShare = 0.8;

/** The oldest of it, as much as has to go to stay within a size. */
export function chooseOldest(
  saved: readonly SavedObject[],
  { mostBytes, now }: { readonly mostBytes: number; readonly now: number },
): readonly SavedObject[] {
  let excess = sizeOf(saved) - mostBytes;
  if (excess <= 0) return [];
  excess += mostBytes * (1 - keptShare);
  const chosen: SavedObject[] = [];
  for (const object of saved.toSorted((a, b) => a.writtenAt - b.writtenAt)) {
    if (excess <= 0 || now - object.writtenAt < youngMs) break;
    chosen.push(object);
    excess -= object.bytes;
  }
  return chosen;
}

const removal = z.strictObject({ at: z.number(), upTo: z.number(), bytes: z.number() });
/** When saved contents were last removed for their size: those written up to a time. */
type Removal = z.infer<typeof removal>;

const removalFile = "removed.json";

export async function noteRemoval(folder: string, removed: Removal): Promise<void> {
  await writeFileAtomically(join(folder, removalFile), JSON.stringify(removed));
}

export async function readRemoval(folder: string): Promise<Removal | null> {
  try {
    const text = await readFile(join(folder, removalFile), "utf8");
    return removal.safeParse(JSON.parse(text)).data ?? null;
  } catch {
    return null;
  }
}

async function namesIn(folder: string): Promise<readonly string[]> {
  return readdir(folder).catch(() => []);
}
