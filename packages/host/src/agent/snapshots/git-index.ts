import { copyFile, rm, stat, utimes } from "node:fs/promises";
import { join } from "node:path";

import type { SavedState } from "./file-snapshots.ts";
import {
  copyExcludes,
  type GitFolder,
  gitEnvironmentFor,
  openGitFolder,
} from "./git-repository.ts";
import { eachPart, partsOf, runGit } from "./run-git.ts";

/** What differs from our index, by path from the workspace. */
export interface ScannedFolder {
  readonly touched: readonly string[];
  /** Folders that are repositories of their own. */
  readonly repositories: readonly string[];
}

/** A path and its new state; `null` removes it. */
export type IndexEntry = readonly [path: string, state: SavedState | null];

const noObject = "0".repeat(40);
const maxEntered = 20_000;
const emptyTree = "4b825dc642cb6eb9a060e54bf8d69288fbee4904";
const gitModes = { plain: "100644", executable: "100755", repository: "160000" } as const;

const listChanged = [
  "diff-files",
  "--name-only",
  "--relative",
  "-z",
  "--ignore-submodules=all",
  "--",
  ".",
] as const;
const listUntracked = ["ls-files", "-z", "--others", "--exclude-standard", "--", "."] as const;

/** Our own git index of one workspace: finds what has changed without reading every file. */
export class GitIndex {
  readonly #program: string;
  readonly #folder: string;
  readonly #git: GitFolder;
  /** Paths of the taken-over index whose content it does not tell. */
  #unknown: readonly string[] = [];
  #repositories: readonly string[] = [];
  /** The index as we left it. Git lists the paths that were entered as touched until it has compared their files. */
  #left = { file: "", tree: "", entered: new Map<string, string>() };

  private constructor(program: string, folder: string, git: GitFolder) {
    this.#program = program;
    this.#folder = folder;
    this.#git = git;
  }

  static async open(
    program: string,
    gitFolder: string,
    folder: string,
    signal: AbortSignal,
  ): Promise<GitIndex> {
    const git = await openGitFolder(gitFolder, folder);
    const index = new GitIndex(program, folder, git);
    if (await index.#begin(signal)) return index;
    // It is not part of the repository above it, or that has no index we could begin from.
    await rm(join(gitFolder, "index"), { force: true });
    return git.prefix === ""
      ? index
      : new GitIndex(program, folder, { ...git, top: folder, prefix: "", source: null });
  }

  /** `null` if git cannot tell. */
  async scan(signal: AbortSignal): Promise<ScannedFolder | null> {
    await copyExcludes(this.#git);
    // In this order: the second scan uses every processor, and the host waits until a process has begun.
    const listing = this.#run(signal, "", ...listUntracked);
    const [changed, untracked] = await Promise.all([
      this.#run(signal, "", ...listChanged),
      listing,
    ]);
    if (changed === null || untracked === null) return null;
    const others = partsOf(untracked);
    const touched = [...partsOf(changed), ...others, ...this.#unknown].filter(isPlainPath);
    return {
      touched: [...new Set(touched)],
      repositories: [
        ...this.#repositories,
        ...others.filter((path) => path.endsWith("/")).map((path) => path.slice(0, -1)),
      ],
    };
  }

  /** The tree of the folder with these entries; `null` if git cannot write it. */
  async write(entries: readonly IndexEntry[], signal: AbortSignal): Promise<string | null> {
    // Another process on this home may have written it.
    if (this.#left.file !== (await this.#lookAtIndex()))
      this.#left = { file: "", tree: "", entered: new Map() };
    const { tree: last, entered } = this.#left;
    if (entries.length === 0 && last !== "") return last;
    const fresh = entries.filter(([path, state]) => entered.get(path) !== markOf(state));
    // Either way git then knows the files that were entered before, and lists them no more.
    if (entries.length > 0 && fresh.length === 0)
      await this.#run(signal, "", "update-index", "-q", "--refresh");
    else if (fresh.length > 0 && !(await this.#enter(fresh, signal))) return null;
    const tree = await this.#writeTree(signal);
    this.#left = { file: await this.#lookAtIndex(), tree: tree ?? "", entered };
    return tree;
  }

  async #writeTree(signal: AbortSignal): Promise<string | null> {
    const { prefix } = this.#git;
    const below = prefix === "" ? [] : [`--prefix=${prefix}`];
    const printed = await this.#run(signal, "", "write-tree", "--missing-ok", ...below);
    if (printed === null) return prefix === "" ? null : emptyTree;
    return printed.toString("latin1").trim();
  }

  async #enter(entries: readonly IndexEntry[], signal: AbortSignal): Promise<boolean> {
    const removed = entries.filter(([, state]) => state === null);
    const put = entries.filter(([, state]) => state !== null);
    // A file may have become a folder.
    const lines = [...removed, ...put].map(([path, state]) => this.#indexLine(path, state));
    const args = ["update-index", "-q", "--refresh", "-z", "--index-info"];
    // With -q it still fails for files that need an update, which is what we know already.
    if ((await this.#run(signal, lines.join(""), ...args)) === null) return false;
    const { entered } = this.#left;
    if (entered.size > maxEntered) entered.clear();
    for (const [path, state] of entries) entered.set(path, markOf(state));
    this.#unknown = this.#unknown.filter((path) => !entered.has(path));
    return true;
  }

  /** Changes whenever anybody writes the index; empty if there is none. */
  async #lookAtIndex(): Promise<string> {
    const file = join(this.#git.gitFolder, "index");
    const info = await stat(file, { bigint: true }).catch(() => null);
    return info === null ? "" : `${info.ino} ${info.size} ${info.mtimeNs}`;
  }

  #indexLine(path: string, state: SavedState | null): string {
    const name = `${this.#git.prefix}${path}`;
    if (state === null) return `0 ${noObject}\t${name}\0`;
    const mode = isExecutable(state.mode) ? gitModes.executable : gitModes.plain;
    return `${mode} ${state.id}\t${name}\0`;
  }

  /** The files that differ between two trees, whose contents need not be here. `null` if git cannot tell. */
  async compare(
    before: string,
    after: string,
    signal: AbortSignal,
  ): Promise<readonly TreeChange[] | null> {
    if (before === after) return [];
    const args = ["diff-tree", "-r", "-z", "--raw", "--no-renames", "--no-abbrev", before, after];
    const output = await this.#run(signal, "", ...args);
    if (output === null) return null;
    const parts = partsOf(output);
    const changes: TreeChange[] = [];
    for (let at = 0; at + 1 < parts.length; at += 2) {
      const [from = "", to = "", fromId = "", toId = ""] = (parts[at] ?? "").slice(1).split(" ");
      const path = parts[at + 1] ?? "";
      if (isPlainPath(path))
        changes.push({ path, before: stateOf(from, fromId), after: stateOf(to, toId) });
    }
    return changes;
  }

  /** Contents that the workspace's repository has, by id. What it does not have is left out. */
  async readFromSource(
    ids: readonly string[],
    signal: AbortSignal,
  ): Promise<ReadonlyMap<string, Uint8Array>> {
    const found = new Map<string, Uint8Array>();
    const { source } = this.#git;
    if (source === null || ids.length === 0) return found;
    const environment = {
      ...gitEnvironmentFor(this.#git),
      GIT_ALTERNATE_OBJECT_DIRECTORIES: JSON.stringify(join(source, "objects")),
    };
    const input = ids.map((id) => `${id}\n`).join("");
    const output = await this.#run(signal, input, { environment }, "cat-file", "--batch");
    if (output === null) return found;
    for (let at = 0; at < output.length;) {
      const end = output.indexOf(0x0a, at);
      const [id = "", type, size] = output.subarray(at, end).toString("latin1").split(" ");
      at = end + 1;
      if (type === "missing" || size === undefined) continue;
      const length = Number(size);
      if (type === "blob") found.set(id, output.subarray(at, at + length));
      at += length + 1;
    }
    return found;
  }

  /** Begins from the repository's own index, whose files need not be read again. */
  async #begin(signal: AbortSignal): Promise<boolean> {
    const { source, gitFolder, prefix } = this.#git;
    const own = join(gitFolder, "index");
    if (source === null) return prefix === "";
    const isNew = (await stat(own).catch(() => null)) === null;
    if (isNew) {
      const index = join(source, "index");
      const { mtimeMs } = await stat(index);
      await copyFile(index, own);
      // Git compares files that were written in the same moment as the index: a newer index would hide them.
      const second = Math.floor(mtimeMs / 1000);
      await utimes(own, second, second);
    }
    const list = ["ls-files", "-s", "--debug", "-z", "--full-name", ":/"];
    const listed = await this.#run(signal, "", ...list);
    if (listed === null) return false;
    const { entries, isBelow } = await parseIndex(listed, prefix);
    if (!isBelow && prefix !== "") return false;
    this.#repositories = entries
      .filter(({ mode, path }) => mode === gitModes.repository && path.startsWith(prefix))
      .map(({ path }) => path.slice(prefix.length));
    if (!isNew) return true;
    return this.#distrust(entries, signal);
  }

  /**
   * Drops what the index does not tell byte for byte: files that a filter or a line-end rule changes, files that it was
   * told to take as unchanged, and conflicts. They are read when the folder is scanned next.
   */
  async #distrust(entries: readonly IndexedFile[], signal: AbortSignal): Promise<boolean> {
    const { source, prefix } = this.#git;
    if (source === null) return false;
    const files = entries.filter(({ mode }) => mode !== gitModes.repository);
    const environment = {
      ...gitEnvironmentFor(this.#git),
      GIT_ALTERNATE_OBJECT_DIRECTORIES: JSON.stringify(join(source, "objects")),
    };
    const input = files.map(({ id }) => `${id}\n`).join("");
    const check = ["cat-file", "--batch-check=%(objectname) %(objectsize)"];
    const sizes = await this.#run(signal, input, { environment }, ...check);
    if (sizes === null) return false;
    const lines = sizes.toString("latin1").split("\n");
    const dropped = files.filter(
      ({ id, size, flags, stage }, at) =>
        stage !== "0" || (flags & assumeValid) !== 0 || lines[at] !== `${id} ${size}`,
    );
    if (dropped.length === 0) return true;
    const removal = dropped.map(({ path }) => `0 ${noObject}\t${path}\0`).join("");
    if ((await this.#run(signal, removal, "update-index", "-z", "--index-info")) === null)
      return false;
    this.#unknown = dropped
      .filter(({ path, flags }) => path.startsWith(prefix) && (flags & skipWorktree) === 0)
      .map(({ path }) => path.slice(prefix.length));
    return true;
  }

  #run(
    signal: AbortSignal,
    input: string,
    ...args: readonly (string | { readonly environment: Record<string, string> })[]
  ): Promise<Buffer | null> {
    const environment = args.find((arg) => typeof arg !== "string")?.environment;
    return runGit(
      {
        program: this.#program,
        folder: this.#folder,
        environment: environment ?? gitEnvironmentFor(this.#git),
        input,
        signal,
      },
      ...args.filter((arg) => typeof arg === "string"),
    );
  }
}

export interface TreeChange {
  readonly path: string;
  readonly before: SavedState | "other" | null;
  readonly after: SavedState | "other" | null;
}

function stateOf(mode: string, id: string): TreeChange["before"] {
  if (mode === "000000") return null;
  if (mode === gitModes.plain) return { id, mode: 0o644 };
  return mode === gitModes.executable ? { id, mode: 0o755 } : "other";
}

function markOf(state: SavedState | null): string {
  return state === null ? "" : `${state.id} ${isExecutable(state.mode)}`;
}

export function isExecutable(mode: number): boolean {
  return (mode & 0o111) !== 0;
}

/** A hostile index can name anything. */
function isPlainPath(path: string): boolean {
  const names = path.split("/");
  return (
    path !== "" && names.every((name) => !["", ".", ".."].includes(name) && !/^\.git$/i.test(name))
  );
}

const assumeValid = 0x8000;
const skipWorktree = 0x4000_0000;

interface IndexedFile {
  readonly mode: string;
  readonly id: string;
  readonly stage: string;
  readonly path: string;
  readonly size: number;
  readonly flags: number;
}

const entryLine = /^(\d{6}) ([0-9a-f]{40}) (\d)\t(.*)$/s;
const debugLine = /\n {2}size: (\d+)\tflags: ([0-9a-f]+)\n/;
const entriesPerTurn = 2_000;

/** Other requests get their turn. */
function takeTurns(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

/** Each entry is followed by lines with what the index knows of its file. */
async function parseIndex(
  listed: Buffer,
  prefix: string,
): Promise<{ readonly entries: readonly IndexedFile[]; readonly isBelow: boolean }> {
  const entries: IndexedFile[] = [];
  let isBelow = false;
  let head = "";
  for (const part of eachPart(listed)) {
    const debug = debugLine.exec(part);
    const [, mode = "", id = "", stage = "", path = ""] = entryLine.exec(head) ?? [];
    if (debug !== null && path !== "") {
      entries.push({
        mode,
        id,
        stage,
        path,
        size: Number(debug[1]),
        flags: Number.parseInt(debug[2] ?? "0", 16),
      });
      isBelow ||= path.startsWith(prefix);
    }
    head = debug === null ? part : part.slice(debug.index + debug[0].length);
    if (entries.length % entriesPerTurn === 0) await takeTurns();
  }
  return { entries, isBelow };
}
