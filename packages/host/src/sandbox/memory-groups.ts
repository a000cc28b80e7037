import { randomBytes } from "node:crypto";
import {
  accessSync,
  constants,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmdirSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";

import type { PlainCommand } from "./sandbox.ts";

/**
 * Control groups that the host may make: the memory of a command and of everything that it starts is limited together,
 * with shared memory and with what is in its private folders, which a limit for each process does not count.
 */
export interface MemoryGroups {
  /** The same command, which joins a new group first; `null` if none can be made now. */
  limit(command: PlainCommand, megabytes: number): PlainCommand | null;
}

interface OwnGroup {
  readonly folder: string;
  readonly version: "1" | "2";
}

const hostGroup = "holdfast-host";
const megabyte = 1024 * 1024;
/** A command joins its group at once; one that is empty after this time is left over. */
const leftOverMs = 60_000;
const joinScript = 'echo $$ > "$1" || exit 125; shift; exec "$@"';

/** `null` where no group was delegated to this user; `systemd` does that with `Delegate=memory`. */
export function openMemoryGroups(now: () => number = Date.now): MemoryGroups | null {
  const own = findOwnGroup();
  if (own === null) return null;
  const { folder, version } = own;
  const made = new Map(leftOverGroups(folder).map((group) => [group, 0]));
  removeAtExit(made);
  return {
    limit(command, megabytes) {
      for (const [group, madeAt] of made)
        if (now() - madeAt > leftOverMs && remove(group)) made.delete(group);
      const group = join(folder, newName());
      try {
        mkdirSync(group);
        made.set(group, now());
        setLimit(group, version, megabytes * megabyte);
      } catch {
        return null;
      }
      const joining = ["/bin/sh", "-c", joinScript, "sh", join(group, "cgroup.procs")] as const;
      return { ...command, argv: [...joining, ...command.argv] };
    },
  };
}

const opened = new Set<ReadonlyMap<string, number>>();

/** What is still in use then is removed by the next host. */
function removeAtExit(made: ReadonlyMap<string, number>): void {
  if (opened.size === 0)
    process.once("exit", () => {
      for (const groups of opened) for (const group of groups.keys()) remove(group);
    });
  opened.add(made);
}

function newName(): string {
  return `holdfast-${process.pid}-${randomBytes(6).toString("hex")}`;
}

function setLimit(group: string, version: OwnGroup["version"], bytes: number): void {
  if (version === "1") {
    writeFileSync(join(group, "memory.limit_in_bytes"), `${bytes}`);
    // Without swap accounting there is no such file.
    write(join(group, "memory.memsw.limit_in_bytes"), `${bytes}`);
    return;
  }
  writeFileSync(join(group, "memory.max"), `${bytes}`);
  write(join(group, "memory.swap.max"), "0");
  write(join(group, "memory.oom.group"), "1");
}

/** The group that this process is in, or the one above it, if groups with a limit can be made there. */
function findOwnGroup(): OwnGroup | null {
  const lines = (read("/proc/self/cgroup") ?? "").split("\n").map((line) => line.split(":"));
  const pathOf = (isIt: (controllers: readonly string[]) => boolean): string | undefined =>
    lines.find(([, controllers]) => controllers !== undefined && isIt(controllers.split(",")))?.[2];
  const first = pathOf((controllers) => controllers.includes("memory"));
  const mount = findMount(first === undefined ? "cgroup2" : "cgroup");
  const path = first ?? pathOf(([name]) => name === "");
  if (mount === null || path === undefined) return null;
  const folder = join(mount, path);
  if (first !== undefined) return canMakeGroup(folder) ? { folder, version: "1" } : null;
  // As root, the group above is writable whether or not it was delegated.
  const isAboveOurs = process.getuid?.() !== 0 && folder !== mount;
  const divided = [folder, ...(isAboveOurs ? [dirname(folder)] : [])].find(divide);
  return divided === undefined ? null : { folder: divided, version: "2" };
}

/** Where the version is mounted; of version 1, the hierarchy with the controller `memory`. */
function findMount(type: "cgroup" | "cgroup2"): string | null {
  for (const line of (read("/proc/self/mountinfo") ?? "").split("\n")) {
    const [before = "", after = ""] = line.split(" - ");
    const [kind, , options = ""] = after.split(" ");
    if (kind === type && (type === "cgroup2" || options.split(",").includes("memory")))
      return before.split(" ")[4] ?? null;
  }
  return null;
}

/** Version 2 divides only groups without processes of their own, so the host moves down if it is alone there. */
function divide(folder: string): boolean {
  const has = (file: string): boolean =>
    (read(join(folder, file)) ?? "").split(/\s+/).includes("memory");
  const enable = (): boolean => write(join(folder, "cgroup.subtree_control"), "+memory");
  if (!isWritable(folder) || !has("cgroup.controllers")) return false;
  if (has("cgroup.subtree_control") || enable()) return canMakeGroup(folder);
  if (read(join(folder, "cgroup.procs"))?.trim() !== `${process.pid}`) return false;
  const below = join(folder, hostGroup);
  try {
    mkdirSync(below, { recursive: true });
  } catch {
    return false;
  }
  if (write(join(below, "cgroup.procs"), `${process.pid}`) && enable()) return canMakeGroup(folder);
  write(join(folder, "cgroup.procs"), `${process.pid}`);
  remove(below);
  return false;
}

function canMakeGroup(folder: string): boolean {
  const trial = join(folder, newName());
  try {
    mkdirSync(trial);
  } catch {
    return false;
  }
  return remove(trial);
}

/** Groups of hosts that have ended. Those with a background command stay until it ends. */
function leftOverGroups(folder: string): readonly string[] {
  return readdirSync(folder).flatMap((name) => {
    const [, pid] = /^holdfast-(\d+)-[0-9a-f]+$/.exec(name) ?? [];
    return pid === undefined || isAlive(Number(pid)) ? [] : [join(folder, name)];
  });
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return error instanceof Error && "code" in error && error.code === "EPERM";
  }
}

function isWritable(path: string): boolean {
  try {
    accessSync(path, constants.W_OK);
    return true;
  } catch {
    return false;
  }
}

/** `false` while something is in it. */
function remove(group: string): boolean {
  try {
    rmdirSync(group);
    return true;
  } catch (error) {
    return error instanceof Error && "code" in error && error.code === "ENOENT";
  }
}

function write(file: string, text: string): boolean {
  try {
    writeFileSync(file, text);
    return true;
  } catch {
    return false;
  }
}

function read(file: string): string | null {
  try {
    return readFileSync(file, "utf8");
  } catch {
    return null;
  }
}
