import { join } from "node:path";
import ignore, { type Ignore } from "ignore";

import type { EntryKind, Jail } from "./jail.ts";

export interface WalkedEntry {
  /** From the workspace. */
  readonly path: string;
  readonly kind: EntryKind;
}

/** No caller waits for more, and no pattern needs it. */
const maxEntries = 100_000;
const maxIgnoreBytes = 64 * 1024;

/**
 * The entries below a folder, folder by folder, sorted. Links are listed but not followed; `.git` and ignored files are
 * left out. Rejects with a message if the folder is missing. Only for the search thread: a pattern in a `.gitignore`
 * may take forever.
 */
export async function* walkFiles(
  jail: Jail,
  start: string,
  depth = Infinity,
): AsyncGenerator<WalkedEntry> {
  let entries = 0;
  async function* below(
    folder: string,
    left: number,
    above: readonly IgnoreFile[],
  ): AsyncGenerator<WalkedEntry> {
    const listed = await jail.list(folder);
    if (!listed.ok) {
      if (folder === start) throw new Error(listed.refusal.message);
      return;
    }
    const { path } = listed.value;
    const ignoreFiles = [...(await readIgnoreFile(jail, path)), ...above];
    for (const { name, kind } of listed.value.entries) {
      const whole = join(path, name);
      if (name === ".git" || isIgnored(ignoreFiles, whole, kind)) continue;
      entries += 1;
      if (entries > maxEntries) throw new Error(`There are more than ${maxEntries} files here.`);
      yield { path: whole, kind };
      if (kind === "folder" && left > 1) yield* below(whole, left - 1, ignoreFiles);
    }
  }
  yield* below(start, depth, []);
}

interface IgnoreFile {
  /** The folder of the file, with a trailing slash; empty for the workspace itself. */
  readonly base: string;
  readonly rules: Ignore;
}

async function readIgnoreFile(jail: Jail, folder: string): Promise<readonly IgnoreFile[]> {
  const read = await jail.read(join(folder, ".gitignore"), async ({ handle, size }) =>
    size > maxIgnoreBytes ? "" : handle.readFile("utf8"),
  );
  if (!read.ok || read.value === "") return [];
  const rules = ignore({ ignorecase: false, allowRelativePaths: true }).add(read.value);
  return [{ base: folder === "" ? "" : `${folder}/`, rules }];
}

/** The nearest `.gitignore` with a matching rule decides. */
function isIgnored(files: readonly IgnoreFile[], path: string, kind: EntryKind): boolean {
  for (const { base, rules } of files) {
    const { ignored, unignored } = rules.test(
      `${path.slice(base.length)}${kind === "folder" ? "/" : ""}`,
    );
    if (ignored || unignored) return ignored;
  }
  return false;
}
