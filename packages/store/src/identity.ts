import { z } from "zod";
import { execFileSync } from "node:child_process";
import { readFileSync, readlinkSync } from "node:fs";
import { hostname } from "node:os";
import { randomUUID } from "node:crypto";
import { threadId } from "node:worker_threads";
import type { Holder, Liveness } from "@holdfast/engine";

/** Who holds something, as it stands in a row. */
export const holderSchema: z.ZodType<Holder> = z.object({
  host: z.string(),
  boot: z.string().nullable(),
  pidNamespace: z.string().nullable(),
  pid: z.int(),
  processStart: z.string().nullable(),
  thread: z.int(),
  agent: z.string(),
  nonce: z.string(),
});

/** What identifies a process on its machine for good. `null`: cannot be known here, and then proves nothing. */
export interface ProcessFacts {
  readonly host: string;
  /** Another after each start of the machine. */
  readonly boot: string | null;
  /** Containers have their own: the same pid in two of them is two processes. */
  readonly pidNamespace: string | null;
  readonly pid: number;
  readonly processStart: string | null;
}

/** How to ask this system; tests answer for other ones. */
export interface SystemFacts {
  readonly host: () => string;
  readonly boot: () => string | null;
  readonly pidNamespace: () => string | null;
  /** `null` when it cannot be told; `gone` when no process has this pid. */
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

/** The 22nd field of `stat`, in clock ticks since the boot. The command's name may hold blanks and brackets. */
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
    // A zombie has ended; only its parent has not heard of it yet.
    if (stat !== null)
      return / Z /.test(stat.slice(stat.lastIndexOf(")"))) ? gone : startFromStat(stat);
    return hasNoProcess(pid) ? gone : null;
  },
};

const command = (file: string, ...args: string[]) =>
  orNull(
    () =>
      execFileSync(file, args, { encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] }).trim() ||
      null,
  );

const macos: SystemFacts = {
  host: hostname,
  boot: () => command("/usr/sbin/sysctl", "-n", "kern.bootsessionuuid"),
  // There are no pid namespaces: one for all.
  pidNamespace: () => "none",
  startOf: (pid) =>
    hasNoProcess(pid) ? gone : command("/bin/ps", "-o", "lstart=", "-p", String(pid)),
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

/** This process, this thread and the agent that asks: an identity that nobody else ever has. */
export function currentHolder(agent: string, thread: number = threadId): Holder {
  ownFacts ??= factsOf(process.pid);
  return { ...ownFacts, thread, agent, nonce: randomUUID() };
}

/**
 * Tells whether a holder is dead, by proof alone: same machine, same boot, same pid namespace, and either no
 * process has its pid or the one that has it started at another time. Everything else is not known.
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
