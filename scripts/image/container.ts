import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { cpSync, mkdirSync, readFileSync } from "node:fs";
import { basename, join } from "node:path";
import { type BuiltImage, imagePath, mountRoot } from "./build-image.ts";
import { lastOf, variablesOf } from "./dockerfile.ts";

export interface ContainerOptions {
  /** A folder for what this container alone needs. */
  readonly folder: string;
  /** Folders of this machine by where the container has them, or how to mount something else there. */
  readonly volumes: Readonly<Record<string, string>>;
  readonly settings?: Readonly<Record<string, string>>;
  readonly command: readonly string[];
  /** A seccomp profile, and the program that applies it. */
  readonly seccomp: { readonly profile: string; readonly program: string };
  /** Hides parts of /proc, as engines do unless they are told `systempaths=unconfined`. */
  readonly hidesProc?: true;
  /** Tries calls that the profile has to refuse, instead of the command. */
  readonly probes?: true | undefined;
  /** Instead of the image's entry point. */
  readonly entry?: readonly string[];
}

export interface Container {
  readonly process: ChildProcess;
  readonly output: () => string;
  readonly ended: Promise<number | null>;
  /** Ends it as an engine would: by the signal, and by force if that takes longer than it may. */
  stop(graceMs: number): Promise<number | null>;
}

/** Some of what engines hide, unless they are told `systempaths=unconfined`. */
const hiddenInProc = ["acpi", "scsi", "keys", "timer_list", "interrupts"];

/**
 * Starts what an engine would start: the image's root, read-only, with its volumes; new mount, pid, ipc and uts
 * namespaces; the image's user without capabilities or a way to new ones; the seccomp profile. The network and the
 * control groups are this machine's.
 */
export function startContainer(image: BuiltImage, options: ContainerOptions): Container {
  const { folder, volumes, settings = {}, command, seccomp } = options;
  const tools = join(image.layer, "opt/try");
  mkdirSync(tools, { recursive: true });
  cpSync(seccomp.program, join(tools, "apply-seccomp.py"));
  const profile = `/opt/try/${basename(folder)}.json`;
  cpSync(seccomp.profile, join(image.layer, profile));
  const [user = "0", group = "0"] = (lastOf(image.stage, "USER") ?? "").split(":");
  const entry =
    options.entry ?? (JSON.parse(lastOf(image.stage, "ENTRYPOINT") ?? "[]") as string[]);
  const root = join(folder, "root");
  const mounts = Object.entries(volumes).map(([place, source]) =>
    source.startsWith("/")
      ? `mount --bind "${source}" "${root}${place}"`
      : `mount -t tmpfs -o "${source}" tmpfs "${root}${place}"`,
  );
  const script = `set -e
${mountRoot(image.layer, root)}
mount -t proc proc "${root}/proc"
${(options.hidesProc ? hiddenInProc : []).map((name) => hide(`${root}/proc/${name}`)).join("\n")}
${mounts.join("\n")}
for place in "" /usr /etc; do mount -o remount,ro,bind "${root}$place"; done
cd "${root}"
pivot_root . .
umount -l .
cd "$1"
shift
exec "$@"`;
  const child = spawn(
    "unshare",
    "--mount --pid --ipc --uts --fork --kill-child=KILL sh -c"
      .split(" ")
      .concat(script, "sh", lastOf(image.stage, "WORKDIR") ?? "/")
      .concat("setpriv", `--reuid=${user}`, `--regid=${group}`, "--clear-groups", "--no-new-privs")
      .concat("--bounding-set=-all", "--inh-caps=-all", "--ambient-caps=-all", "--")
      .concat("python3", "/opt/try/apply-seccomp.py", profile, options.probes ? ["--probe"] : [])
      .concat("--", entry, command),
    {
      stdio: ["ignore", "pipe", "pipe"],
      env: {
        PATH: imagePath,
        ...variablesOf(image.stage),
        ...settings,
      },
    },
  );
  let output = "";
  for (const stream of [child.stdout, child.stderr])
    stream.on("data", (chunk: Buffer) => (output += chunk.toString()));
  const ended = once(child, "close").then(() => child.exitCode);
  return {
    process: child,
    output: () => output,
    ended,
    async stop(graceMs) {
      signalInside(child, "SIGTERM");
      const force = setTimeout(() => child.kill("SIGKILL"), graceMs);
      const code = await ended;
      clearTimeout(force);
      return code;
    },
  };
}

const hide = (path: string): string =>
  `if [ -d "${path}" ]; then mount -t tmpfs -o ro tmpfs "${path}"; elif [ -e "${path}" ]; then mount --bind /dev/null "${path}"; fi`;

/** `unshare` itself ignores signals: its child is the container's first process. */
function signalInside({ pid }: ChildProcess, signal: NodeJS.Signals): void {
  const [first] = readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8").split(" ");
  if (first) process.kill(Number(first), signal);
}
