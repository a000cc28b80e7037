import { existsSync } from "node:fs";
import { release } from "node:os";

import { belowRoot } from "../agent/workspace/resolve-path.ts";
import { findProgram } from "./find-program.ts";
import { innerArguments } from "./inner-script.ts";
import type { Mount, Plan, Sandbox } from "./sandbox.ts";
import { type MountPoint, readMountPoints } from "./visible-folders.ts";

const toolNames = [
  "setpriv",
  "unshare",
  "mount",
  "umount",
  "pivot_root",
  "mkdir",
  "cp",
  "prlimit",
] as const;
type Tools = Readonly<Record<(typeof toolNames)[number] | "network", string>>;

/**
 * Sets up the inside, as the first process of its namespaces. It is root of a user namespace that owns the mounts; the
 * command gets a second one below, which owns nothing, and in which no further one can be made.
 */
const script = (tools: Tools): string => `
set -e
# Whoever made the namespaces may have ended before this process asked to end with it.
read -r pid name state parent rest < /proc/self/stat || parent=
[ "$parent" = "$HOLDFAST_PARENT" ] || exit 125
unset HOLDFAST_PARENT
fail() { echo "The sandbox could not be set up." >&2; exit 125; }
trap '[ $? = 0 ] || fail' EXIT
base=$1 table=$2 links=$3 files=$4 processes=$5 user=$6 group=$7
shift 7
${tools.mount} -t tmpfs -o size=2m,mode=755,nosuid,nodev tmpfs "$base"
${tools.mkdir} "$base/.old" "$base/dev" "$base/run" "$base/run/holdfast"
for file in $files; do : > "$base$file"; done
printf %s "$table" > "$base/.table"
{ echo 1 > /proc/sys/user/max_user_namespaces; } 2>/dev/null || :
if [ -n "$processes" ]; then { echo "$processes" > /proc/sys/kernel/pid_max; } 2>/dev/null || :; fi
if [ -n "$links" ]; then ${tools.cp} -P $links "$base"; fi
${tools.mount} -a -T "$base/.table"
${tools.cp} -P /dev/fd /dev/stdin /dev/stdout /dev/stderr "$base/dev" 2>/dev/null || :
cd "$base"
: > .table
${tools.pivot_root} . .old
${tools.umount} -l /.old
${tools.network}
trap - EXIT
if [ "$user" = 0 ]
then exec ${tools.unshare} --user --map-user="$user" --map-group="$group" -- ${tools.setpriv} --no-new-privs --bounding-set=-all --inh-caps=-all --ambient-caps=-all -- "$@"
else exec ${tools.setpriv} --no-new-privs --inh-caps=-all --ambient-caps=-all -- ${tools.unshare} --user --map-user="$user" --map-group="$group" -- "$@"
fi
`;

const devices = ["null", "zero", "full", "random", "urandom", "tty", "ptmx"];

export interface NamespaceSettings {
  /** An empty folder of the host's own, over which the new root is mounted. */
  readonly base: string;
}

export type FoundAdapter =
  | { readonly ok: true; readonly sandbox: Sandbox }
  | { readonly ok: false; readonly reason: string };

/** User namespaces, with the programs of util-linux. */
export function findNamespaces({ base }: NamespaceSettings): FoundAdapter {
  const found = Object.fromEntries(toolNames.map((name) => [name, findProgram(name)]));
  const missing = toolNames.filter((name) => found[name] === null);
  const [ip, ifconfig] = [findProgram("ip"), findProgram("ifconfig")];
  const network = ip === null ? ifconfig && `${ifconfig} lo up` : `${ip} link set lo up`;
  if (network === null) missing.push("ip" as never);
  if (missing.length > 0) return { ok: false, reason: `${missing.join(", ")} cannot be found` };
  const tools = { ...found, network } as Tools;
  const text = script(tools);
  const withoutNetwork = script({ ...tools, network: ":" });
  const { uid, gid } = { uid: process.getuid?.() ?? 0, gid: process.getgid?.() ?? 0 };
  return {
    ok: true,
    sandbox: {
      kind: "namespaces",
      confine(command, plan) {
        const isShared = plan.network === "host";
        const argv: readonly [string, ...string[]] = [
          "/bin/sh",
          "-c",
          namedParent,
          "sh",
          tools.unshare,
          ...namespaceFlags,
          ...(isShared ? [] : ["--net"]),
          "--",
          "/bin/sh",
          "-c",
          isShared ? withoutNetwork : text,
          "sh",
          base,
          mountTable(base, plan, readMountPoints() ?? []),
          plan.rootLinks.map(({ path }) => path).join(" "),
          devices.map((name) => `/dev/${name}`).join(" "),
          limitsPids() ? `${Math.max(plan.limits.processes, smallestPidMax)}` : "",
          `${uid}`,
          `${gid}`,
          ...innerArguments(tools.prlimit, command, plan),
        ];
        return { argv, folder: "/", environment: command.environment, endsWithParent: true };
      },
    },
  };
}

/** The pid as /proc has it, which is how the process inside sees its parent. */
const namedParent =
  'read -r HOLDFAST_PARENT rest < /proc/self/stat; export HOLDFAST_PARENT; exec "$@"';
const namespaceFlags =
  "--user --map-root-user --mount --pid --ipc --uts --fork --kill-child=KILL".split(" ");
const smallestPidMax = 400;

/** Since Linux 6.14 `pid_max` belongs to the pid namespace; before, it is the whole machine's. */
export function limitsPids(version = release()): boolean {
  const [major = 0, minor = 0] = version.split(".").map((part) => Number.parseInt(part, 10));
  return major > 6 || (major === 6 && minor >= 14);
}

/** The mounts in the format of fstab(5): one process makes them all. */
function mountTable(base: string, plan: Plan, mounted: readonly MountPoint[]): string {
  const line = (from: string, path: string, type: string, options: readonly string[]): string =>
    `${escapeField(from)} ${escapeField(`${base}${path}`)} ${type} ${options.join(",")} 0 0\n`;
  const lines = plan.mounts.flatMap((mount) => mountLines(mount, mounted, line));
  return [
    ...devices
      .filter((name) => name !== "ptmx")
      // Writing to a device is no change of its file system; root of the machine could otherwise change its mode.
      .map((name) => line(`/dev/${name}`, `/dev/${name}`, "none", ["bind,ro,nosuid,noexec"])),
    line("devpts", "/dev/pts", "devpts", ["newinstance,ptmxmode=0666,mode=620,X-mount.mkdir"]),
    line(`${base}/dev/pts/ptmx`, "/dev/ptmx", "none", ["bind"]),
    line("proc", "/proc", "proc", ["nosuid,nodev,noexec,X-mount.mkdir"]),
    // Root of the machine could otherwise change these, whatever namespace it is in.
    ...["sys", "sysrq-trigger", "irq", "bus", "fs", "acpi", "scsi", "mtrr", "dynamic_debug"]
      .filter(isInProc)
      .map((name) =>
        line(`${base}/proc/${name}`, `/proc/${name}`, "none", ["rbind,ro,nosuid,nodev,noexec"]),
      ),
    ...lines,
  ].join("");
}

const isInProc = (name: string): boolean => existsSync(`/proc/${name}`);

type Line = (from: string, path: string, type: string, options: readonly string[]) => string;

function mountLines(mount: Mount, mounted: readonly MountPoint[], line: Line): readonly string[] {
  const { path } = mount;
  switch (mount.kind) {
    case "private": {
      const options = [`size=${mount.megabytes}m`, `mode=${mount.mode}`, "nosuid,nodev"];
      return [line("tmpfs", path, "tmpfs", [...options, "X-mount.mkdir"])];
    }
    case "hidden":
      return mount.what === "file"
        ? [line("/dev/null", path, "none", ["bind,ro,nosuid,noexec"])]
        : [line("tmpfs", path, "tmpfs", ["size=64k,mode=755,nosuid,nodev"])];
    case "read":
    case "write": {
      const from = mount.from ?? path;
      const flags = mount.kind === "read" ? ["ro", "nosuid", "nodev"] : ["nosuid", "nodev"];
      const at = mounted
        .filter((point) => belowRoot(point.path, from) !== null)
        .reduce<MountPoint | undefined>(longer, undefined);
      // A namespace below may add options and not take any away.
      const options = (point: MountPoint | undefined): readonly string[] => [
        ...new Set([...flags, ...(point?.options ?? [])]),
      ];
      const below = mounted.filter(
        (point) => point.path !== from && belowRoot(from, point.path) !== null,
      );
      return [
        line(from, path, "none", ["rbind", ...options(at), "X-mount.mkdir"]),
        // A recursive bind takes them along with the options that they have.
        ...below.map((point) =>
          line("none", `${path}${point.path.slice(from.length)}`, "none", [
            "remount",
            "bind",
            ...options(point),
          ]),
        ),
      ];
    }
  }
}

/** The innermost mount that contains a path; of two on one another, the one that is seen. */
function longer(best: MountPoint | undefined, point: MountPoint): MountPoint {
  return best === undefined || point.path.length >= best.path.length ? point : best;
}

function escapeField(text: string): string {
  return text.replace(
    // oxlint-disable-next-line no-control-regex -- they separate fields and lines
    /[\u0001-\u0020\\#"]/g,
    (character) => `\\${character.charCodeAt(0).toString(8).padStart(3, "0")}`,
  );
}
