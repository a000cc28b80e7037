import { readFileSync } from "node:fs";

/** Below this a few hundred open pages are too many. */
const minOpenFiles = 4_096;

/** A sentence for the operator when few files may be open at once; each open page takes one. */
export function fileLimitWarning(limits: string | undefined = readLimits()): string | undefined {
  const soft = /^Max open files\s+(\d+)/m.exec(limits ?? "")?.[1];
  if (soft === undefined || Number(soft) >= minOpenFiles) return undefined;
  return `Only ${soft} files may be open at once, and each open page takes one: raise the limit to at least ${minOpenFiles} ("ulimit -n 65536", or LimitNOFILE= of the service).`;
}

function readLimits(): string | undefined {
  try {
    return readFileSync("/proc/self/limits", "utf8");
  } catch {
    // Elsewhere the system does not tell it this way, and Node itself has raised it as far as it may.
    return undefined;
  }
}
