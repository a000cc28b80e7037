import { existsSync, readFileSync, readdirSync, rmSync } from "node:fs";
import { join } from "node:path";

/** What an escape would reach. Everything here was put there for the trial, except the machine itself. */
export interface EscapeTargets {
  /** Stands in each place that must not be read. */
  readonly canary: string;
  /** The workspace of the command. */
  readonly workspace: string;
  /** A file in the home of Holdfast, one in another workspace, and one in the home of the person. */
  readonly holdfastFile: string;
  readonly otherWorkspaceFile: string;
  readonly personFile: string;
  readonly personHome: string;
  /** An unconfined process of the same user, with the canary in its environment. */
  readonly victimPid: number;
  readonly isVictimAlive: () => boolean;
  /** Servers of the host that answer with the canary: on loopback, on an abstract socket, on a socket in a folder. */
  readonly loopbackPort: number;
  readonly abstractName: string;
  readonly socketPath: string;
  /** Folders in which the host finds its programs. */
  readonly programFolders: readonly string[];
  readonly node: string;
  /** More than a command may have. */
  readonly beyond: {
    readonly processes: number;
    readonly memoryMegabytes: number;
    readonly fileMegabytes: number;
  };
}

export interface EscapeCase {
  readonly id: string;
  /** Completes "a command cannot …". */
  readonly words: string;
  readonly attempt: (targets: EscapeTargets) => readonly [string, ...string[]];
  /** Besides the canary in its output, which is an escape in any case. */
  readonly hasEscaped?: (targets: EscapeTargets, output: string) => boolean;
}

/** Printed last by each attempt: one that could not be made says nothing about the sandbox. */
export const triedMark = "holdfast-tried";

type Argv = readonly [string, ...string[]];
/** What an attempt gets as arguments. */
type Named = {
  [Name in keyof EscapeTargets]: EscapeTargets[Name] extends string | number ? Name : never;
}[keyof EscapeTargets];

function sh(script: string, ...args: readonly string[]): Argv {
  return ["/bin/sh", "-c", `${script}\necho ${triedMark}`, "sh", ...args];
}

const shell =
  (script: string, ...pick: Named[]) =>
  (targets: EscapeTargets): Argv =>
    sh(script, ...pick.map((name) => String(targets[name])));

const program =
  (script: string, ...pick: Named[]) =>
  (targets: EscapeTargets): Argv => {
    const whole = `process.on("exit", () => console.log("${triedMark}")); ${script}`;
    return [targets.node, "-e", whole, "--", ...pick.map((name) => String(targets[name]))];
  };

const says =
  (word: string) =>
  (_: EscapeTargets, output: string): boolean =>
    output.includes(word);

/** Connects and prints what it is sent. */
const connectTo = (target: string): string =>
  `const s = require("net").connect(${target}); s.setEncoding("utf8");
   s.on("connect", () => s.write("GET / HTTP/1.0\\r\\n\\r\\n")); s.on("data", (d) => console.log(d));
   s.on("error", (e) => console.log(e.code)); setTimeout(() => process.exit(0), 2000).unref();`;

const mark = "holdfast-escaped";

/** Twenty ways out of a sandbox. None of them does harm if it succeeds. */
export const escapeCases: readonly EscapeCase[] = [
  {
    id: "token",
    words: "read files in the home of Holdfast, by any path",
    attempt: shell(
      'cat "$1"; cat ../../*; cat ../../sandbox/*; cat /proc/self/cwd/../../*; cat ../../../token',
      "holdfastFile",
    ),
  },
  {
    id: "environment",
    words: "find secrets in its own environment, or in that of another process",
    attempt: shell(
      'env; cat /proc/*/environ /proc/"$PPID"/environ /proc/"$1"/environ',
      "victimPid",
    ),
  },
  {
    id: "workspaces",
    words: "read another workspace",
    attempt: shell('cat "$1"; cat ../*/*', "otherWorkspaceFile"),
  },
  {
    id: "home",
    words: "read the home of the person",
    attempt: shell('cat "$1" "$2"/* "$2"/.[!.]*; cat ~/* ~/.[!.]*', "personFile", "personHome"),
  },
  {
    id: "keys",
    words: "read SSH keys or password hashes",
    attempt: shell(
      'cat "$1"/.ssh/* ~/.ssh/* /root/.ssh/* /home/*/.ssh/* /etc/ssh/*_key; grep -h "[$][0-9a-z]*[$]" /etc/shadow && echo PRIVATE KEY',
      "personHome",
    ),
    hasEscaped: says("PRIVATE KEY"),
  },
  {
    id: "system",
    words: "change the system or the programs on PATH",
    attempt: ({ programFolders }) =>
      sh(
        `for f in /usr /usr/bin /usr/local/bin /etc /lib /opt "$@"; do true > "$f/${mark}" && rm "$f/${mark}" && echo WROTE "$f"; done`,
        ...programFolders,
      ),
    hasEscaped: ({ programFolders }, output) =>
      output.includes("WROTE") ||
      ["/usr", "/usr/bin", "/usr/local/bin", "/etc", "/opt", ...programFolders].some((folder) =>
        existsSync(join(folder, mark)),
      ),
  },
  {
    id: "loopback",
    words: "reach a server on the host's loopback",
    attempt: program(
      connectTo('{ port: Number(process.argv[1]), host: "127.0.0.1" }'),
      "loopbackPort",
    ),
  },
  {
    id: "network",
    words: "reach any other network",
    attempt: program(
      `const names = Object.keys(require("os").networkInterfaces()).filter((n) => n !== "lo");
       if (names.length > 0) console.log("INTERFACE", names);
       const s = require("net").connect({ port: 443, host: "1.1.1.1" });
       s.on("connect", () => { console.log("CONNECTED"); process.exit(0); });
       s.on("error", (e) => console.log(e.code)); setTimeout(() => process.exit(0), 2000).unref();`,
    ),
    hasEscaped: (_, output) => /INTERFACE|CONNECTED/.test(output),
  },
  {
    id: "memory",
    words: "look into a process of the host",
    attempt: shell(
      'head -c 1 "/proc/$1/maps" && echo OPENED; head -c 1 "/proc/$1/mem" && echo OPENED; ls "/proc/$1/fd" && echo OPENED',
      "victimPid",
    ),
    hasEscaped: says("OPENED"),
  },
  {
    id: "kill",
    words: "end a process of the host",
    attempt: shell('kill -9 "$1" && echo SIGNALLED', "victimPid"),
    hasEscaped: ({ isVictimAlive }, output) => output.includes("SIGNALLED") || !isVictimAlive(),
  },
  {
    id: "survivor",
    words: "leave a process behind",
    attempt: ({ canary }) => {
      const survivor = `true > up; sleep 30; : ${canary.slice(0, 8)}-survivor`;
      const wait = "while [ ! -e up ]; do sleep 0.02; done; rm up";
      return sh(`(setsid sh -c "$1" >/dev/null 2>&1 &); ${wait}`, survivor);
    },
    hasEscaped: ({ canary }) => isRunning(`${canary.slice(0, 8)}-survivor`),
  },
  {
    id: "abstract",
    words: "reach a socket of the host that has no file",
    attempt: program(connectTo('"\\0" + process.argv[1]'), "abstractName"),
  },
  {
    id: "sockets",
    words: "reach a socket of the host in a folder, such as Docker's",
    attempt: shell(
      `for s in /var/run/docker.sock /run/docker.sock /run/containerd/containerd.sock /run/dbus/system_bus_socket "$SSH_AUTH_SOCK"; do [ -S "$s" ] && echo SOCKET "$s"; done; "$2" -e '${connectTo("process.argv[1]")}' -- "$1"`,
      "socketPath",
      "node",
    ),
    hasEscaped: says("SOCKET"),
  },
  {
    id: "mounts",
    words: "uncover what is hidden by unmounting or mounting",
    attempt: shell(
      `try='umount -l "$2" "\${1%/*}"; mount -o remount,rw /usr; mount -o remount,bind,rw /usr; cat "$1"; true > /usr/${mark} && rm /usr/${mark} && echo WROTE'
       sh -c "$try" sh "$1" "$2"; unshare -Urm sh -c "$try" sh "$1" "$2"; nsenter -t 1 -m cat "$1"`,
      "holdfastFile",
      "personHome",
    ),
    hasEscaped: says("WROTE"),
  },
  {
    id: "root",
    words: "leave its root by chroot or by the root of another process",
    attempt: shell(
      'for p in /proc/1/root /proc/self/root "/proc/$2/root" "/proc/$PPID/root" /.old /proc/1/cwd; do cat "$p$1"; chroot "$p" cat "$1"; done; cat "/../../../..$1"',
      "holdfastFile",
      "victimPid",
    ),
  },
  {
    id: "devices",
    words: "open a disk or the machine's memory",
    attempt: shell(
      'mknod disk b 8 0; mknod disk2 b 254 0; mknod mem c 1 1; for d in disk disk2 mem /dev/sd* /dev/vd* /dev/nvme* /dev/mem /dev/kmem /dev/port /dev/kmsg /dev/fuse /dev/kvm; do [ -e "$d" ] && head -c 1 "$d" && echo OPENED "$d"; done; rm -f disk disk2 mem',
    ),
    hasEscaped: says("OPENED"),
  },
  {
    id: "links",
    words: "reach outside by links in the workspace",
    attempt: shell(
      `ln -sf "$1" link; cat link; ln -sfn "\${1%/*}" folder; true > folder/${mark}; cat folder/*; ln "$1" hard; cat hard`,
      "holdfastFile",
    ),
    hasEscaped: ({ holdfastFile }) => existsSync(join(holdfastFile, "..", mark)),
  },
  {
    id: "git",
    words: "change what git runs for the host",
    attempt: shell(
      `printf '# ${mark}\\n' >> "$1/.gitconfig"; for d in /etc /usr/share/git-core/templates/hooks; do true > "$d/${mark}" && rm "$d/${mark}" && echo WROTE "$d"; done`,
      "personHome",
    ),
    hasEscaped: ({ personHome }, output) =>
      output.includes("WROTE") || readOrEmpty(join(personHome, ".gitconfig")).includes(mark),
  },
  {
    id: "kernel",
    words: "change settings of the kernel or of control groups",
    // Each writes what is there already.
    attempt: shell(
      `for s in kernel/core_pattern kernel/domainname vm/swappiness kernel/modprobe; do v=$(cat "/proc/sys/$s") && echo "$v" > "/proc/sys/$s" && echo WROTE "$s"; done; for c in /sys/fs/cgroup /sys/fs/cgroup/*; do mkdir "$c/${mark}" && rmdir "$c/${mark}" && echo WROTE "$c"; done; [ -e /sys/kernel ] && [ -w /sys/kernel/profiling ] && echo WROTE`,
    ),
    hasEscaped: says("WROTE"),
  },
  {
    id: "bombs",
    words: "take all processes, all memory or all of the disk",
    attempt: ({ beyond, node }) =>
      sh(
        `head -c "$3"M /dev/zero > big && echo FILE; rm -f big
         "$4" -e 'console.log("started"); const m = Number(process.argv[1]); const all = []; for (let n = 0; n < m; n += 16) all.push(Buffer.alloc(16 << 20, 1)); console.log("MEMORY")' "$2"
         (n=0; while [ "$n" -lt "$1" ]; do sleep 20 & n=$((n + 1)); done; echo PROCESSES)`,
        String(beyond.processes),
        String(beyond.memoryMegabytes),
        String(beyond.fileMegabytes),
        node,
      ),
    hasEscaped: (_, output) => /^(FILE|MEMORY|PROCESSES)$/m.test(output),
  },
];

function readOrEmpty(file: string): string {
  try {
    return readFileSync(file, "utf8");
  } catch {
    return "";
  }
}

/** Whether a process of this machine has this text in its command line. */
function isRunning(text: string): boolean {
  return readdirSync("/proc").some(
    (pid) => /^\d+$/.test(pid) && readOrEmpty(`/proc/${pid}/cmdline`).includes(text),
  );
}

/** What a successful attempt may have left. */
export function removeTraces({ workspace }: EscapeTargets): void {
  for (const name of ["link", "folder", "hard", "big", "disk", "disk2", "mem"])
    rmSync(join(workspace, name), { recursive: true, force: true });
}
