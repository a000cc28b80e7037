import {
  closeSync,
  fsyncSync,
  openSync,
  readFileSync,
  rmSync,
  statfsSync,
  writeSync,
} from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import {
  errorFinding,
  warningFinding,
  type DoctorFinding,
  okFinding,
  reasonOf,
} from "./finding.ts";

const minNodeVersion = 24;
const bytesPerMegabyte = 1024 * 1024;
const lowSpaceBytes = 1024 * bytesPerMegabyte;
const criticalSpaceBytes = 100 * bytesPerMegabyte;
const slowSyncMs = 50;
const minOpenFiles = 4_096;

export function checkNode(version: string): DoctorFinding {
  const major = Number(version.split(".")[0]);
  if (major >= minNodeVersion) return okFinding("Node", version);
  return errorFinding("Node", `${version} is too old`, `Install Node ${minNodeVersion} or newer.`);
}

export async function checkSqlite(version: string | undefined): Promise<DoctorFinding> {
  const { whySqliteVersionRefused } = await import("@holdfast/store/sqlite");
  const reason = whySqliteVersionRefused(version ?? "0");
  if (reason === undefined) return okFinding("SQLite", version ?? "");
  return errorFinding("SQLite", reason, "Install a newer Node: SQLite comes with it.");
}

/** Free space, and whether the file system keeps its promises: syncs, and locks between processes. */
export async function checkDisk(home: string): Promise<DoctorFinding[]> {
  const findings: DoctorFinding[] = [];
  try {
    const { bavail, bsize } = statfsSync(home);
    findings.push(spaceFinding(bavail * bsize, home));
    findings.push(syncFinding(timeSync(home), home));
    const { checkFileSystem } = await import("@holdfast/store/sqlite");
    await checkFileSystem(join(home, "holdfast.db"));
    findings.push(
      okFinding("File system", "locks, shared memory and syncs hold between processes"),
    );
  } catch (error) {
    const mend = "Put the home on a local disk that can be written (HOLDFAST_HOME).";
    findings.push(errorFinding("File system", reasonOf(error), mend));
  }
  return findings;
}

export function spaceFinding(bytes: number, home: string): DoctorFinding {
  const words = `${Math.floor(bytes / bytesPerMegabyte)} MB free at ${home}`;
  if (bytes < criticalSpaceBytes)
    return errorFinding("Free space", words, "Free some, or move the home.");
  return bytes < lowSpaceBytes
    ? warningFinding("Free space", words, "Free some before it is used up.")
    : okFinding("Free space", words);
}

/** The median of five after one to warm up. */
function timeSync(home: string): number {
  const file = join(home, `.sync-${process.pid}`);
  const handle = openSync(file, "wx", 0o600);
  try {
    const page = Buffer.alloc(4096, 1);
    const times = Array.from({ length: 6 }, () => {
      const startedAt = performance.now();
      writeSync(handle, page);
      fsyncSync(handle);
      return performance.now() - startedAt;
    });
    return times.slice(1).toSorted((a, b) => a - b)[2] ?? 0;
  } finally {
    closeSync(handle);
    rmSync(file, { force: true });
  }
}

export function syncFinding(ms: number, home: string): DoctorFinding {
  const words = `a sync takes ${ms.toFixed(2)} ms at ${home}`;
  if (ms < slowSyncMs) return okFinding("Disk sync", words);
  return warningFinding(
    "Disk sync",
    words,
    "Everything waits for it: a faster disk makes all of it faster.",
  );
}

/** The soft limit of this process, if the system exposes it. */
export function readOpenFileLimit(): number | undefined {
  try {
    const limits = readFileSync("/proc/self/limits", "utf8");
    const soft = /^Max open files\s+(\d+|unlimited)/m.exec(limits)?.[1];
    return soft === undefined ? undefined : soft === "unlimited" ? Infinity : Number(soft);
  } catch {
    return undefined;
  }
}

export function openFilesFinding(limit: number | undefined): DoctorFinding {
  if (limit === undefined) return okFinding("Open files", "the system does not tell its limit");
  if (limit >= minOpenFiles) return okFinding("Open files", `up to ${limit}`);
  return warningFinding(
    "Open files",
    `only ${limit} at once: each tab takes one`,
    `ulimit -n ${minOpenFiles * 4}, or LimitNOFILE= in the service's unit`,
  );
}

/** Whether the port is free, or used by a host of this home. */
export async function checkPort(
  host: string,
  port: number,
  running: string | undefined,
): Promise<DoctorFinding> {
  const words = `${host}:${port}`;
  if (running !== undefined) return okFinding("Port", `a host of this home serves at ${running}`);
  if (port === 0) return okFinding("Port", "any free one");
  const code = await tryPort(host, port);
  if (code === undefined) return okFinding("Port", `${words} is free`);
  const problem =
    code === "EADDRINUSE" ? "is taken by another program" : `cannot be used (${code})`;
  return errorFinding(
    "Port",
    `${words} ${problem}`,
    "Choose others with HOLDFAST_HOST and HOLDFAST_PORT.",
  );
}

function tryPort(host: string, port: number): Promise<string | undefined> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once("error", (error: NodeJS.ErrnoException) => resolve(error.code ?? "unknown"));
    server.listen(port, host, () => server.close(() => resolve(undefined)));
  });
}
