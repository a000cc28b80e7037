import { lstat, mkdir, readFile, realpath, writeFile } from "node:fs/promises";
import { dirname, join, relative } from "node:path";

/**
 * The settings of our own git folder. Nothing of a workspace's configuration is read, and no program that a workspace
 * could name is started: no hooks, filters, monitors or transports.
 */
const settings: Readonly<Record<string, string>> = {
  "core.attributesFile": "/dev/null",
  "core.autocrlf": "false",
  "core.excludesFile": "/dev/null",
  "core.fileMode": "true",
  "core.fsmonitor": "false",
  "core.hooksPath": "/dev/null",
  "core.preloadIndex": "true",
  "core.sparseCheckout": "false",
  "core.splitIndex": "false",
  "core.symlinks": "true",
  "core.untrackedCache": "keep",
  "gc.auto": "0",
  "index.sparse": "false",
  "protocol.allow": "never",
  "submodule.recurse": "false",
};

/** Files are saved byte for byte, whatever the attributes of the workspace say. */
const rawAttributes = "* -text -eol -filter -ident -working-tree-encoding -diff -merge\n";

/** What git needs to work with our own index and folder on somebody else's files. */
export interface GitFolder {
  /** Ours. */
  readonly gitFolder: string;
  /** The top of the repository that the workspace is in, or the workspace itself. */
  readonly top: string;
  /** The workspace from the top: empty, or ending with a slash. */
  readonly prefix: string;
  /** The git folder of that repository, if our index can begin from its index. */
  readonly source: string | null;
}

export async function openGitFolder(gitFolder: string, folder: string): Promise<GitFolder> {
  await mkdir(join(gitFolder, "objects"), { recursive: true, mode: 0o700 });
  await mkdir(join(gitFolder, "refs"), { recursive: true, mode: 0o700 });
  await mkdir(join(gitFolder, "info"), { recursive: true, mode: 0o700 });
  await writeFile(join(gitFolder, "info", "attributes"), rawAttributes, { mode: 0o600 });
  await writeFile(
    join(gitFolder, "config"),
    "[core]\n\trepositoryformatversion = 0\n\tbare = false\n",
    { mode: 0o600 },
  );
  await writeFile(join(gitFolder, "HEAD"), "ref: refs/heads/none\n", { mode: 0o600 });
  const top = await findTop(folder);
  const below = relative(top ?? folder, folder);
  return {
    gitFolder,
    top: top ?? folder,
    prefix: below === "" ? "" : `${below}/`,
    source: top === null ? null : await findSource(top),
  };
}

const maxLevels = 40;

/** The nearest folder above that has a git folder. */
async function findTop(folder: string): Promise<string | null> {
  let current = folder;
  for (let level = 0; level < maxLevels; level += 1) {
    const info = await lstat(join(current, ".git")).catch(() => null);
    if (info !== null && !info.isSymbolicLink()) return current;
    const parent = dirname(current);
    if (parent === current) return null;
    current = parent;
  }
  return null;
}

const maxIndexBytes = 256 * 1024 * 1024;

/**
 * An index is taken over only if the contents that it names can only be those of this repository: one that borrows
 * objects from elsewhere, or is itself elsewhere, could name contents of another.
 */
async function findSource(top: string): Promise<string | null> {
  const git = join(top, ".git");
  const info = await lstat(git).catch(() => null);
  const index = await lstat(join(git, "index")).catch(() => null);
  if (info?.isDirectory() !== true || index?.isFile() !== true) return null;
  if (index.size > maxIndexBytes) return null;
  const objects = join(git, "objects");
  const borrows = await lstat(join(objects, "info", "alternates")).catch(() => null);
  const isPlain =
    (await realpath(objects).catch(() => "")) === objects &&
    (await realpath(join(objects, "pack")).catch(() => "")) === join(objects, "pack");
  return borrows === null && isPlain ? git : null;
}

/** The environment in which git reads none of the workspace's or the person's configuration. */
export function gitEnvironmentFor({ gitFolder, top }: GitFolder): Record<string, string> {
  return {
    GIT_DIR: gitFolder,
    GIT_WORK_TREE: top,
    GIT_CONFIG_NOSYSTEM: "1",
    GIT_CONFIG_GLOBAL: "/dev/null",
    GIT_ATTR_NOSYSTEM: "1",
    GIT_OPTIONAL_LOCKS: "0",
    GIT_TERMINAL_PROMPT: "0",
    GIT_CONFIG_COUNT: String(Object.keys(settings).length),
    ...Object.fromEntries(
      Object.entries(settings).flatMap(([name, value], index) => [
        [`GIT_CONFIG_KEY_${index}`, name],
        [`GIT_CONFIG_VALUE_${index}`, value],
      ]),
    ),
    HOME: gitFolder,
    XDG_CONFIG_HOME: gitFolder,
    PATH: "/usr/bin:/bin",
    LC_ALL: "C",
  };
}

/** The patterns that only this clone ignores; git itself reads them from its own folder alone. */
export async function copyExcludes({ gitFolder, top }: GitFolder): Promise<void> {
  const source = join(top, ".git", "info", "exclude");
  const info = await lstat(source).catch(() => null);
  const text =
    info?.isFile() === true && info.size < 1024 * 1024
      ? await readFile(source).catch(() => "")
      : "";
  await writeFile(join(gitFolder, "info", "exclude"), text, { mode: 0o600 });
}
