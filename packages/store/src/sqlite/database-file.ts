import {
  existsSync,
  statSync,
  closeSync,
  openSync,
  mkdirSync,
  rmSync,
  statfsSync,
  writeFileSync,
} from "node:fs";
import { spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { dirname, join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { fileURLToPath } from "node:url";
import { OpenFailure } from "../shared/open-failure.ts";

/**
 * Creates the file readable by its owner only; SQLite gives its companion files the same mode. Leaves an existing
 * file alone: closing another handle to it would drop the locks that this process holds.
 */
export function createPrivateFile(file: string): void {
  try {
    closeSync(openSync(file, "wx", 0o600));
  } catch {
    // It exists or can't be created; the writer reports which.
  }
}

const probeScript = fileURLToPath(new URL("./file-system-probe.ts", import.meta.url));

/** Linux magic numbers of network file systems: SQLite's shared memory doesn't work there. */
const networkFileSystems = new Map([
  [0x6969, "NFS"],
  [0x517b, "SMB"],
  [0xff534d42, "CIFS"],
  [0xfe534d42, "SMB2"],
  [0x01021997, "9P"],
  [0x5346414f, "AFS"],
  [0x00c36400, "Ceph"],
]);

/** The name of the network file system with this magic number, if it is one. */
export function networkFileSystemOf(type: number): string | undefined {
  return networkFileSystems.get(type >>> 0);
}

function unsafeFolder(folder: string, reason: string): OpenFailure {
  return new OpenFailure(
    "file_system_unsafe",
    `The folder ${folder} ${reason}. Put the data folder on a local disk, or use PostgreSQL (HOLDFAST_STORE=postgres://…).`,
  );
}

const passedDevices = new Set<number>();

/**
 * Proves, once per device, that the folder can hold a database with several writing processes: a second process must
 * see a commit, must be blocked by the lock, and the file must sync. A marker file in the folder records the result.
 */
export async function checkFileSystem(file: string): Promise<void> {
  const folder = dirname(file);
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    const network = networkFileSystemOf(statfsSync(folder).type);
    if (network !== undefined) throw unsafeFolder(folder, `is on a network disk (${network})`);
    const { dev } = statSync(folder);
    const marker = join(folder, `.holdfast-disk-${dev}`);
    if (existsSync(marker)) return;
    if (!passedDevices.has(dev)) await testFolder(folder);
    passedDevices.add(dev);
    writeFileSync(
      marker,
      "This disk has passed Holdfast's check of locks, shared memory and syncs.\n",
    );
  } catch (error) {
    if (error instanceof OpenFailure) throw error;
    const reason = error instanceof Error ? error.message : String(error);
    throw new OpenFailure("store_unavailable", `The folder ${folder} cannot be used: ${reason}.`);
  }
}

async function testFolder(folder: string): Promise<void> {
  const file = join(folder, `.holdfast-check-${randomUUID()}.db`);
  const database = new DatabaseSync(file, { timeout: 0 });
  try {
    database.exec("PRAGMA synchronous = FULL");
    const mode = database.prepare("PRAGMA journal_mode = WAL").get()?.["journal_mode"];
    if (mode !== "wal") throw unsafeFolder(folder, "does not allow a write-ahead log");
    database.exec(
      "CREATE TABLE t (n INTEGER); INSERT INTO t VALUES (1); BEGIN IMMEDIATE; INSERT INTO t VALUES (2)",
    );
    const output = await runProbe(file);
    if (!output.includes("rows=1"))
      throw unsafeFolder(folder, "does not show one process's commits to another");
    if (!output.includes("lock=kept"))
      throw unsafeFolder(folder, "does not keep two writers apart");
    database.exec("COMMIT");
  } finally {
    database.close();
    for (const suffix of ["", "-wal", "-shm"]) rmSync(file + suffix, { force: true });
  }
}

async function runProbe(file: string): Promise<string> {
  const child = spawn(process.execPath, [probeScript, file], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  let output = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => (output += text));
  await once(child, "close");
  return output;
}
