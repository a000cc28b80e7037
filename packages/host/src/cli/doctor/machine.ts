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
import { doctorStrings } from "../strings/doctor.ts";
import {
  errorFinding,
  warningFinding,
  type DoctorFinding,
  okFinding,
  reasonOf,
} from "./finding.ts";

const { checks, machine: texts } = doctorStrings;
const minNodeVersion = 24;
const bytesPerMegabyte = 1024 * 1024;
const lowSpaceBytes = 1024 * bytesPerMegabyte;
const criticalSpaceBytes = 100 * bytesPerMegabyte;
const slowSyncMs = 50;
const minOpenFiles = 4_096;

export function checkNode(version: string): DoctorFinding {
  const major = Number(version.split(".")[0]);
  if (major >= minNodeVersion) return okFinding(checks.node, version);
  return errorFinding(checks.node, texts.nodeTooOld(version), texts.installNode(minNodeVersion));
}

export async function checkSqlite(version: string | undefined): Promise<DoctorFinding> {
  const { whySqliteVersionRefused } = await import("@holdfast/store/sqlite");
  const reason = whySqliteVersionRefused(version ?? "0");
  if (reason === undefined) return okFinding(checks.sqlite, version ?? "");
  return errorFinding(checks.sqlite, reason, texts.installSqlite);
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
    findings.push(okFinding(checks.files, texts.filesOk));
  } catch (error) {
    findings.push(errorFinding(checks.files, reasonOf(error), texts.filesMend));
  }
  return findings;
}

export function spaceFinding(bytes: number, home: string): DoctorFinding {
  const words = texts.space(Math.floor(bytes / bytesPerMegabyte), home);
  if (bytes < criticalSpaceBytes) return errorFinding(checks.space, words, texts.spaceCritical);
  return bytes < lowSpaceBytes
    ? warningFinding(checks.space, words, texts.spaceLow)
    : okFinding(checks.space, words);
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
  const words = texts.sync(ms, home);
  if (ms < slowSyncMs) return okFinding(checks.disk, words);
  return warningFinding(checks.disk, words, texts.syncSlow);
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
  if (limit === undefined) return okFinding(checks.openFiles, texts.openFilesUnknown);
  if (limit >= minOpenFiles) return okFinding(checks.openFiles, texts.openFiles(limit));
  return warningFinding(
    checks.openFiles,
    texts.openFilesLow(limit),
    texts.raiseOpenFiles(minOpenFiles * 4),
  );
}

/** Whether the port is free, or used by a host of this home. */
export async function checkPort(
  host: string,
  port: number,
  running: string | undefined,
): Promise<DoctorFinding> {
  const words = `${host}:${port}`;
  if (running !== undefined) return okFinding(checks.port, texts.portOurs(running));
  if (port === 0) return okFinding(checks.port, texts.portAny);
  const code = await tryPort(host, port);
  if (code === undefined) return okFinding(checks.port, texts.portFree(words));
  const problem = code === "EADDRINUSE" ? texts.portTaken(words) : texts.portUnusable(words, code);
  return errorFinding(checks.port, problem, texts.portMend);
}

function tryPort(host: string, port: number): Promise<string | undefined> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once("error", (error: NodeJS.ErrnoException) => resolve(error.code ?? "unknown"));
    server.listen(port, host, () => server.close(() => resolve(undefined)));
  });
}
