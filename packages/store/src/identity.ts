import { execFileSync } from "node:child_process";
import { readFileSync, readlinkSync } from "node:fs";
import { hostname } from "node:os";
import { randomUUID } from "node:crypto";
import { threadId } from "node:worker_threads";
import type { Holder, Liveness, ProcessIdentity } from "@holdfast/engine";

export { holderSchema } from "./schema/holder.ts";

/** Identifies one process on its machine. `null` means the platform can't tell, and then nothing can be proven. */
export interface ProcessFacts {
  readonly host: string;
  /** Changes with every boot. */
  readonly boot: string | null;
  /** Each container has its own: the same pid in two of them is two processes. */
  readonly pidNamespace: string | null;
  readonly pid: number;
  readonly processStart: string | null;
}

/** How to query this system. Tests pass in others. */
export interface SystemFacts {
  readonly host: () => string;
  readonly boot: () => string | null;
  readonly pidNamespace: () => string | null;
  /** `null` when unknown; `gone` when no process has this pid. */
  readonly startOf: (pid: number) => string | null;
}

const gone = "gone";

function orNull<T>(read: () => T): T | null {
  try {
    return read();
  } catch {
    return null;
  }
}

/** The 22nd field of `stat`, in clock ticks since boot. The command name may contain spaces and parentheses. */
function startFromStat(stat: string): string | null {
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  return fields[19] ?? null;
}

function hasNoProcess(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return false;
  } catch (error) {
    return error instanceof Error && "code" in error && error.code === "ESRCH";
  }
}

const linux: SystemFacts = {
  host: hostname,
  boot: () => orNull(() => readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim()),
  pidNamespace: () => orNull(() => readlinkSync("/proc/self/ns/pid")),
  startOf(pid) {
    const stat = orNull(() => readFileSync(`/proc/${pid}/stat`, "utf8"));
    // A zombie has exited; its parent just hasn't reaped it yet.
    if (stat !== null)
      return / Z /.test(stat.slice(stat.lastIndexOf(")"))) ? gone : startFromStat(stat);
    return hasNoProcess(pid) ? gone : null;
  },
};

const outputOf = (file: string, ...args: string[]) =>
  orNull(
    () =>
      execFileSync(file, args, { encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] }).trim() ||
      null,
  );

const macos: SystemFacts = {
  host: hostname,
  boot: () => outputOf("/usr/sbin/sysctl", "-n", "kern.bootsessionuuid"),
  // macOS has no pid namespaces, so all processes share one.
  pidNamespace: () => "none",
  startOf: (pid) =>
    hasNoProcess(pid) ? gone : outputOf("/bin/ps", "-o", "lstart=", "-p", String(pid)),
};

const otherPlatform: SystemFacts = {
  host: hostname,
  boot: () => null,
  pidNamespace: () => null,
  startOf: () => null,
};

export const thisSystem: SystemFacts =
  process.platform === "linux" ? linux : process.platform === "darwin" ? macos : otherPlatform;

export function factsOf(pid: number, system: SystemFacts = thisSystem): ProcessFacts {
  const start = system.startOf(pid);
  return {
    host: system.host(),
    boot: system.boot(),
    pidNamespace: system.pidNamespace(),
    pid,
    processStart: start === gone ? null : start,
  };
}

let ownFacts: ProcessFacts | undefined;

/** Identifies this process, thread and agent uniquely: the nonce makes sure of it. */
export function currentHolder(agent: string, thread: number = threadId): Holder {
  ownFacts ??= factsOf(process.pid);
  return { ...ownFacts, thread, agent, nonce: randomUUID() };
}

/**
 * Declares a holder dead only on proof: same machine, same boot, same pid namespace, and either no process has its
 * pid or the one that has it started at another time. Everything else is `unknown`.
 */
export function createLiveness(system: SystemFacts = thisSystem): Liveness {
  return {
    isDead(holder) {
      if (holder.boot === null || holder.pidNamespace === null || holder.processStart === null)
        return "unknown";
      if (holder.host !== system.host()) return "unknown";
      if (holder.boot !== system.boot() || holder.pidNamespace !== system.pidNamespace())
        return "unknown";
      const start = system.startOf(holder.pid);
      if (start === null) return "unknown";
      return start === holder.processStart ? "alive" : "dead";
    },
  };
}

/** The identity of this process that a store passes to the engine. */
export const processIdentity: ProcessIdentity = { holder: currentHolder, ...createLiveness() };
