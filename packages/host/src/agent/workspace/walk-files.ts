import { join } from "node:path";
import { setImmediate as afterOthers } from "node:timers/promises";

import type { EntryKind, Jail } from "./jail.ts";
import { compileGlob, type Glob } from "../../util/text/glob.ts";

export interface WalkedEntry {
  /** From the workspace. */
  readonly path: string;
  readonly kind: EntryKind;
}

export interface WalkOptions {
  readonly depth?: number;
  readonly signal?: AbortSignal | undefined;
}

/** No caller waits for more, and no pattern needs it. */
const maxEntries = 100_000;
const maxIgnoreBytes = 64 * 1024;
/** Patterns and names are untrusted: after this long, yield so that other work and an abort get their turn. */
const yieldAfterMs = 20;

/**
 * The entries below a folder, folder by folder, sorted. Links are listed and not followed; `.git` and what `.gitignore`
 * files exclude are left out. Rejects with a message if the folder is missing.
 */
export async function* walkFiles(
  jail: Jail,
  start: string,
  { depth = Infinity, signal }: WalkOptions = {},
): AsyncGenerator<WalkedEntry> {
  let entries = 0;
  let turn = performance.now();
  async function* below(
    folder: string,
    left: number,
    above: readonly Ignore[],
  ): AsyncGenerator<WalkedEntry> {
    const listed = await jail.list(folder);
    if (!listed.ok) {
      if (folder === start) throw new Error(listed.refusal.message);
      return;
    }
    const { path } = listed.value;
    const ignores = [...above, ...(await readIgnore(jail, path))];
    for (const { name, kind } of listed.value.entries) {
      if (performance.now() - turn > yieldAfterMs) {
        await afterOthers();
        turn = performance.now();
      }
      signal?.throwIfAborted();
      const whole = join(path, name);
      if (name === ".git" || isIgnored(ignores, whole, kind)) continue;
      entries += 1;
      if (entries > maxEntries) throw new Error(`There are more than ${maxEntries} files here.`);
      yield { path: whole, kind };
      if (kind === "folder" && left > 1) yield* below(whole, left - 1, ignores);
    }
  }
  yield* below(start, depth, []);
}

interface Ignore {
  /** The folder of the file, with a trailing slash; empty for the workspace itself. */
  readonly base: string;
  readonly says: "leave out" | "keep";
  readonly only: "folders" | "everything";
  readonly matches: Glob;
}

async function readIgnore(jail: Jail, folder: string): Promise<readonly Ignore[]> {
  const read = await jail.read(join(folder, ".gitignore"), async ({ handle, size }) =>
    size > maxIgnoreBytes ? "" : handle.readFile("utf8"),
  );
  if (!read.ok) return [];
  const base = folder === "" ? "" : `${folder}/`;
  return read.value.split(/\r?\n/).flatMap((line) => parseIgnore(base, line));
}

/** Supports the simple part of the grammar and ignores other lines. */
function parseIgnore(base: string, line: string): readonly Ignore[] {
  const text = line.trim();
  if (text === "" || text.startsWith("#")) return [];
  const says = text.startsWith("!") ? "keep" : "leave out";
  const plain = says === "keep" ? text.slice(1) : text;
  const only = plain.endsWith("/") ? "folders" : "everything";
  const pattern = plain.replace(/\/$/, "");
  const anchored = pattern.includes("/") ? pattern.replace(/^\//, "") : `**/${pattern}`;
  const matches = compileGlob(anchored);
  return matches === null ? [] : [{ base, says, only, matches }];
}

function isIgnored(ignores: readonly Ignore[], path: string, kind: EntryKind): boolean {
  const last = ignores.findLast(
    ({ base, only, matches }) =>
      (only === "everything" || kind === "folder") && matches(path.slice(base.length)),
  );
  return last?.says === "leave out";
}
