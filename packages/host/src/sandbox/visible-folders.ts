import { accessSync, constants, readdirSync, readFileSync, readlinkSync, statSync } from "node:fs";
import { lstat, realpath, readdir } from "node:fs/promises";
import { basename, dirname, join, resolve } from "node:path";

import { belowRoot } from "../agent/workspace/resolve-path.ts";
import type { Mount, Profile, RootLink } from "./sandbox.ts";

/** What is visible in every sandbox of this host. */
export interface BaseView {
  /** Links such as `/bin`, copied as they are. */
  readonly rootLinks: readonly RootLink[];
  readonly mounts: readonly Mount[];
  /** Never visible, whatever contains it. */
  readonly holdfastHome: string;
  /** The home of the host's user: empty and private inside. */
  readonly personHome: string | null;
}

const systemFolders = [
  "/usr",
  "/bin",
  "/sbin",
  "/lib",
  "/lib32",
  "/lib64",
  "/libx32",
  "/etc",
  "/opt",
];
/** NixOS keeps the system here. */
const furtherSystemFolders = ["/nix/store", "/run/current-system"];

const privateMegabytes = { tmp: 1_024, home: 512, shm: 256 };

export interface BaseViewSettings {
  readonly holdfastHome: string;
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** Further folders that the operator names. */
  readonly folders: readonly string[];
}

export async function readBaseView(settings: BaseViewSettings): Promise<BaseView> {
  const { environment, folders } = settings;
  const holdfastHome = await realOrSame(settings.holdfastHome);
  const givenHome = environment["HOME"] ?? "";
  const personHome = /^\/./.test(givenHome) ? await realOrSame(givenHome) : null;
  const rootLinks = systemFolders.flatMap((path) => {
    const to = linkTarget(path);
    return to === null ? [] : [{ path, to }];
  });
  const isLink = (path: string): boolean => rootLinks.some((link) => link.path === path);
  const system = [...systemFolders.filter((path) => !isLink(path)), ...furtherSystemFolders];
  const toolchains = await toolchainFolders(environment["PATH"] ?? "", personHome);
  const readable = [...system, ...toolchains, ...folders].filter(isFolder);
  const mounts: Mount[] = [
    { kind: "private", path: "/tmp", megabytes: privateMegabytes.tmp, mode: "1777" },
    { kind: "private", path: "/dev/shm", megabytes: privateMegabytes.shm, mode: "1777" },
    ...readable.map((path) => ({ kind: "read", path }) as const),
    ...(await secretFiles("/etc")),
  ];
  return { rootLinks, mounts, holdfastHome, personHome };
}

/**
 * The mounts for one profile, parents before children. A path that nothing names is not there at all; of a folder
 * inside another one only what differs is listed.
 */
export function planMounts(base: BaseView, profile: Profile): readonly Mount[] {
  const { holdfastHome, personHome } = base;
  const writable = profile.writable.map((path) => ({ kind: "write", path }) as const);
  const readable = (profile.readable ?? []).map((path) => ({ kind: "read", path }) as const);
  const isInHoldfast = ({ path }: Mount): boolean => belowRoot(holdfastHome, path) !== null;
  const home: Mount[] = [];
  if (personHome !== null && !profile.writable.some((path) => belowRoot(path, personHome) !== null))
    home.push(
      profile.homeName === undefined
        ? { kind: "private", path: personHome, megabytes: privateMegabytes.home, mode: "700" }
        : { kind: "write", path: personHome, from: homeFolderOf(holdfastHome, profile.homeName) },
    );
  const hidden = { kind: "hidden", path: holdfastHome, what: "folder" } as const;
  const all: Mount[] = [
    ...[...base.mounts, ...readable].filter((mount) => !isInHoldfast(mount)),
    ...home,
    hidden,
    ...writable,
  ];
  return withoutRepetitions(all);
}

export function homeFolderOf(holdfastHome: string, name: string): string {
  return join(holdfastHome, "sandbox", "homes", name);
}

const depthOf = (path: string): number => path.split("/").length;

/** The last one of a path counts. */
function withoutRepetitions(all: readonly Mount[]): readonly Mount[] {
  const byPath = new Map(all.map((mount) => [mount.path, mount]));
  const sorted = [...byPath.values()].toSorted((a, b) => depthOf(a.path) - depthOf(b.path));
  const kept: Mount[] = [];
  for (const mount of sorted) {
    const parent = kept.findLast(({ path }) => belowRoot(path, mount.path) !== null);
    if (isImplied(mount, parent)) continue;
    kept.push(mount);
  }
  return kept;
}

function isImplied(mount: Mount, parent: Mount | undefined): boolean {
  const isSame = (parent?.kind === "read" || parent?.kind === "write") && parent.from === undefined;
  switch (mount.kind) {
    case "hidden":
      return !isSame;
    case "read":
      // What is in a folder that may be changed may be changed.
      return isSame && mount.from === undefined;
    case "write":
      return isSame && parent.kind === "write" && mount.from === undefined;
    case "private":
      return false;
  }
}

/** Managers of versions: their programs on the path need the rest of their folder. */
const wholeInHome = new Set(
  ".pyenv .rbenv .nodenv .jenv .asdf .volta .sdkman miniconda3 anaconda3 miniforge3".split(" "),
);
/** What programs in such a folder need beside it. */
const besides = new Map([[".cargo", [".rustup"]]]);
const prefixFolders = ["lib", "lib64", "libexec", "include"];

/** The folders that programs on the path need, without the rest of the home that some are in. */
async function toolchainFolders(path: string, home: string | null): Promise<readonly string[]> {
  const found: string[] = [];
  for (const entry of path.split(":")) {
    // A relative entry means another folder everywhere.
    if (!entry.startsWith("/")) continue;
    // Both spellings: scripts name the one, links lead to the other.
    for (const folder of new Set([resolve(entry), await realOrSame(entry)]))
      found.push(...foldersFor(folder, home));
  }
  return found.filter(
    (folder) => folder !== "/" && (home === null || belowRoot(folder, home) === null),
  );
}

function foldersFor(folder: string, home: string | null): readonly string[] {
  const prefix = dirname(folder);
  const belowHome = home === null ? null : belowRoot(home, folder);
  if (belowHome === null) {
    if (basename(folder) === ".bin") return [prefix];
    return [folder, ...[...prefixFolders, "share"].map((name) => join(prefix, name))];
  }
  const [top = ""] = belowHome.split("/");
  if (home === null || top === "") return [];
  if (wholeInHome.has(top)) return [join(home, top)];
  const siblings = prefixFolders.map((name) => join(prefix, name));
  const others = (besides.get(top) ?? []).map((name) => join(home, name));
  return [folder, ...(prefix === home ? [] : siblings), ...others];
}

/** What this process could read, and not everybody: keys and password hashes, if the host runs as root. */
export async function secretFiles(folder: string): Promise<readonly Mount[]> {
  const entries = await readdir(folder, { withFileTypes: true }).catch(() => []);
  const found: Mount[] = [];
  for (const entry of entries) {
    if (!entry.isFile() && !entry.isDirectory()) continue;
    const path = join(folder, entry.name);
    const mode = (await lstat(path).catch(() => null))?.mode ?? 0;
    const isOpen = entry.isFile() ? (mode & 0o004) !== 0 : (mode & 0o005) === 0o005;
    if (!isOpen && canRead(path))
      found.push({ kind: "hidden", path, what: entry.isFile() ? "file" : "folder" });
    else if (isOpen && entry.isDirectory()) found.push(...(await secretFiles(path)));
  }
  return found;
}

function canRead(path: string): boolean {
  try {
    accessSync(path, constants.R_OK);
    return true;
  } catch {
    return false;
  }
}

function linkTarget(path: string): string | null {
  try {
    return readlinkSync(path);
  } catch {
    return null;
  }
}

function isFolder(path: string): boolean {
  try {
    return statSync(path).isDirectory() && readdirSync(path) !== null;
  } catch {
    return false;
  }
}

async function realOrSame(path: string): Promise<string> {
  return realpath(path).catch(() => resolve(path));
}

/** A mount of the host, with the options that a bind of it has to repeat. */
export interface MountPoint {
  readonly path: string;
  readonly options: readonly string[];
}

/** `null` where the system does not list them. */
export function readMountPoints(): readonly MountPoint[] | null {
  try {
    return parseMountInfo(readFileSync("/proc/self/mountinfo", "utf8"));
  } catch {
    return null;
  }
}

const keptOptions = new Set(["ro", "nosuid", "nodev", "noexec"]);

function parseMountInfo(text: string): readonly MountPoint[] {
  return text.split("\n").flatMap((line) => {
    const [, , , , path, options] = line.split(" ");
    if (path === undefined || options === undefined) return [];
    return [
      {
        path: path.replace(/\\([0-7]{3})/g, (_, octal: string) =>
          String.fromCharCode(Number.parseInt(octal, 8)),
        ),
        options: options.split(",").filter((option) => keptOptions.has(option)),
      },
    ];
  });
}
