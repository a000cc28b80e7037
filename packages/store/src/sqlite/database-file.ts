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

function fileIdentityOf(file: string): string | undefined {
  const found = statSync(file, { throwIfNoEntry: false });
  return found && `${found.dev}:${found.ino}`;
}

/**
 * P1: a file that was deleted or replaced while it is open takes writes as before, and nobody ever sees them again.
 * So the writer makes sure, in each transaction, that the path still leads to what it has open.
 */
export class FileIdentity {
  readonly #file: string;
  readonly #identity: string | undefined;

  constructor(file: string) {
    this.#file = file;
    this.#identity = fileIdentityOf(file);
  }

  /** Throws when the database is not where it was. */
  assertInPlace(): void {
    if (fileIdentityOf(this.#file) === this.#identity) return;
    throw new Error(
      `The database ${this.#file} was moved, deleted or replaced while it is in use. Nothing was written: put it back, or restart.`,
    );
  }

  /** Inside a transaction: then there is a log, unless someone took it away. */
  assertLogInPlace(): void {
    this.assertInPlace();
    // Not by `statSync`: a file whose times were looked at gets a new time with its next write, and the sync at the end of
    // the transaction then has to write that down too.
    if (existsSync(`${this.#file}-wal`)) return;
    throw new Error(
      `The write-ahead log of ${this.#file} was deleted while it is in use. Nothing was written: restart, and leave the -wal file alone.`,
    );
  }
}

/**
 * A new file is its owner's alone, wherever it lies; what SQLite puts beside it takes its mode over. One that is there is
 * left alone: closing another handle to it would give up the locks that this process holds.
 */
export function createPrivateFile(file: string): void {
  try {
    closeSync(openSync(file, "wx", 0o600));
  } catch {
    // It is there, or it cannot be made; the writer says which.
  }
}

const probeScript = fileURLToPath(new URL("./file-system-probe.ts", import.meta.url));

/** Network file systems, by the numbers that Linux gives them: SQLite's shared memory does not work there. */
const networkFileSystems = new Map([
  [0x6969, "NFS"],
  [0x517b, "SMB"],
  [0xff534d42, "CIFS"],
  [0xfe534d42, "SMB2"],
  [0x01021997, "9P"],
  [0x5346414f, "AFS"],
  [0x00c36400, "Ceph"],
]);

/** What kind of network disk this number of Linux's stands for, if it does. */
export function networkFileSystemOf(type: number): string | undefined {
  return networkFileSystems.get(type >>> 0);
}

function unsafeFolder(folder: string, why: string): OpenFailure {
  return new OpenFailure(
    "file_system_unsafe",
    `The folder ${folder} ${why}. Put the data folder on a local disk, or use PostgreSQL (HOLDFAST_STORE=postgres://…).`,
  );
}

/** Devices that this process has seen pass. */
const passedDevices = new Set<number>();

/**
 * Proves, once for each device, that the folder can hold a database that several processes write to: a second
 * process must see a commit, must be kept out by the lock, and the file must sync. A mark in the folder remembers it.
 */
export async function checkFileSystem(file: string): Promise<void> {
  const folder = dirname(file);
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    const network = networkFileSystemOf(statfsSync(folder).type);
    if (network !== undefined) throw unsafeFolder(folder, `is on a network disk (${network})`);
    const { dev } = statSync(folder);
    const mark = join(folder, `.holdfast-disk-${dev}`);
    if (existsSync(mark)) return;
    if (!passedDevices.has(dev)) await testFolder(folder);
    passedDevices.add(dev);
    writeFileSync(
      mark,
      "This disk has passed Holdfast's check of locks, shared memory and syncs.\n",
    );
  } catch (error) {
    if (error instanceof OpenFailure) throw error;
    const why = error instanceof Error ? error.message : String(error);
    throw new OpenFailure("store_unavailable", `The folder ${folder} cannot be used: ${why}.`);
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
    const seen = await runProbe(file);
    if (!seen.includes("rows=1"))
      throw unsafeFolder(folder, "does not show one process's commits to another");
    if (!seen.includes("lock=kept")) throw unsafeFolder(folder, "does not keep two writers apart");
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
  let seen = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => (seen += text));
  await once(child, "close");
  return seen;
}
