import {
  type FileHandle,
  link,
  lstat,
  mkdir,
  open,
  readdir,
  readFile,
  rename,
  rm,
} from "node:fs/promises";
import { randomBytes } from "node:crypto";
import { constants } from "node:fs";
import { join } from "node:path";
import type {
  SpillFile,
  SpillResult,
  SpillReadResult,
  SpillStore,
  SpillBeginResult,
  SpillHeader,
  SpillName,
  SpillRef,
} from "@holdfast/engine";
import {
  encodeEnd,
  encodeEvents,
  encodeRecord,
  encodeHeader,
  decodeHeader,
  decodeSpill,
  decodeSpillName,
} from "./format.ts";

/** The header and its copy are records 0 and 1. */
const firstRecordNumber = 2;

/**
 * A spill file that its runner is writing. Each call is one record and one sync. A failed write is repeated at the
 * same offset, so that half a record never stays in the middle.
 */
function createSpillFile(
  handle: FileHandle,
  start: number,
  hooks: { readonly remove: () => Promise<void>; readonly onClosed: () => void },
): SpillFile {
  let offset = start;
  let number = firstRecordNumber;
  let isOpen = true;

  async function appendRecord(text: string): Promise<SpillResult> {
    if (!isOpen) return spillFailure(new Error("The spill was closed."));
    const record = encodeRecord(number, text);
    try {
      await writeAll(handle, record, offset);
      await handle.datasync();
    } catch (error) {
      return spillFailure(error);
    }
    offset += record.length;
    number += 1;
    return { status: "kept" };
  }

  async function close(): Promise<void> {
    if (!isOpen) return;
    isOpen = false;
    await handle.close().catch(() => undefined);
    hooks.onClosed();
  }

  return {
    append: (events) => appendRecord(encodeEvents(events)),
    seal: (end) => appendRecord(encodeEnd(end)),
    close,
    async discard() {
      await hooks.remove();
      await close();
    },
  };
}

async function writeAll(handle: FileHandle, bytes: Buffer, offset: number): Promise<void> {
  for (let count = 0; count < bytes.length;) {
    const { bytesWritten } = await handle.write(bytes, count, bytes.length - count, offset + count);
    count += bytesWritten;
  }
}

function spillFailure(error: unknown): Extract<SpillResult, { status: "failed" }> {
  const code = error instanceof Error && "code" in error ? error.code : undefined;
  const isFull = code === "ENOSPC" || code === "EDQUOT" || code === "EFBIG";
  const message = error instanceof Error ? error.message : String(error);
  return { status: "failed", code: isFull ? "spill_full" : "spill_unavailable", message };
}

export interface SpillFolderOptions {
  /** Disk space reserved for each spill in advance. */
  readonly reserveBytes?: number;
  /** For up to this many spills at once. */
  readonly maxReserves?: number;
}

/** More than the largest message with its calls. A larger spill takes what space is left on the disk. */
const defaultReserveBytes = 2 * 1024 * 1024;
const defaultMaxReserves = 4;
/** A larger file wasn't written by us. */
const maxFileBytes = 64 * 1024 * 1024;
const maxHeaderBytes = 64 * 1024;
const placeFile = "place";
const suffix = ".spill";

/**
 * A folder of spills: one private file per run and fence. Space is reserved as files of zeros, so that a disk that
 * fills up later can't take it away. A spill starts as one of them and is renamed once its header is durable.
 */
export async function openSpillFolder(
  path: string,
  { reserveBytes = defaultReserveBytes, maxReserves = defaultMaxReserves }: SpillFolderOptions = {},
): Promise<SpillStore> {
  await mkdir(path, { recursive: true, mode: 0o700 });
  const place = await loadOrCreatePlaceId(path);
  await removeStaleReserves(path);
  const reserves: string[] = [];
  const writing = new Set<string>();
  let refilling: Promise<void> | undefined;

  async function addReserve(): Promise<void> {
    const name = join(path, `${randomBytes(8).toString("hex")}.reserve.${process.pid}`);
    try {
      const handle = await open(name, "wx", 0o600);
      try {
        await writeAll(handle, Buffer.alloc(reserveBytes), 0);
        await handle.sync();
      } finally {
        await handle.close();
      }
      reserves.push(name);
    } catch {
      // Without a reserve a spill takes what space there is when it is needed.
      await rm(name, { force: true }).catch(() => undefined);
    }
  }

  async function begin(header: SpillHeader): Promise<SpillBeginResult> {
    const name = fileNameOf(header);
    const target = join(path, name);
    const reserve = reserves.pop();
    let source = reserve ?? `${target}.new`;
    let handle = reserve && (await open(reserve, "r+").catch(() => undefined));
    try {
      if (!handle) handle = await open((source = `${target}.new`), "w+", 0o600);
      // Twice: without a header everything after it would be lost.
      const headerBytes = Buffer.concat(
        [0, 1].map((number) => encodeRecord(number, encodeHeader(header))),
      );
      await writeAll(handle, headerBytes, 0);
      await handle.datasync();
      await rename(source, target);
      await syncFolder(path);
      writing.add(name);
      const remove = () => removeSpill(header);
      const onClosed = () => void writing.delete(name);
      return {
        status: "begun",
        file: createSpillFile(handle, headerBytes.length, { remove, onClosed }),
      };
    } catch (error) {
      if (handle) await handle.close().catch(() => undefined);
      return spillFailure(error);
    }
  }

  async function removeSpill(ref: SpillRef): Promise<void> {
    const file = join(path, fileNameOf(ref));
    try {
      // Truncate first: if the file can't be removed, its content must not be ingested again.
      await truncateFile(file);
      await rm(file, { force: true });
      await syncFolder(path);
    } catch {
      // It is gone or empty, or nothing can be done about it now.
    }
  }

  async function read(ref: SpillRef): Promise<SpillReadResult> {
    try {
      const bytes = await readFileStart(join(path, fileNameOf(ref)), maxFileBytes);
      const result = await decodeSpill(bytes);
      if (result.status === "arriving" || result.status === "known_empty") return result;
      const { session, runId, fence } = result.header;
      // A file under another run's name belongs to nobody.
      const matches = session === ref.session && runId === ref.runId && fence === ref.fence;
      return matches ? result : { status: "arriving" };
    } catch (error) {
      return { status: (await isKnownEmpty(error, ref)) ? "known_empty" : "arriving" };
    }
  }

  /** A folder that is temporarily missing proves nothing about its content. */
  async function isKnownEmpty(error: unknown, ref: SpillRef): Promise<boolean> {
    return hasCode(error, "ENOENT") && ref.place === place && (await readPlaceId(path)) === place;
  }

  async function isReady(ref: SpillRef): Promise<boolean> {
    try {
      const stats = await lstat(join(path, fileNameOf(ref)));
      return stats.isFile() && stats.size > 0;
    } catch (error) {
      return isKnownEmpty(error, ref);
    }
  }

  return {
    place,
    async reserve() {
      if (reserves.length < Math.min(maxReserves, writing.size + 1))
        await (refilling ??= addReserve().finally(() => (refilling = undefined)));
    },
    begin,
    isReady,
    read,
    forget: removeSpill,
    async left() {
      const names = await readdir(path).catch(() => []);
      const unfinished = names.filter((name) => name.endsWith(suffix) && !writing.has(name));
      const headers = await Promise.all(
        unfinished.map((name) =>
          readFileStart(join(path, name), maxHeaderBytes).then(decodeHeader, () => undefined),
        ),
      );
      return headers.filter((header) => header !== undefined);
    },
    async all() {
      // The id last: a folder that was replaced meanwhile says nothing about ours.
      const names = await readdir(path).catch(() => null);
      if (names === null || (await readPlaceId(path)) !== place) return null;
      return names.flatMap(spillNameIn);
    },
  };
}

async function truncateFile(file: string): Promise<void> {
  const handle = await open(file, constants.O_WRONLY | constants.O_NOFOLLOW);
  try {
    await handle.truncate(0);
    await handle.sync();
  } finally {
    await handle.close();
  }
}

function fileNameOf({ runId, fence }: SpillName): string {
  return `${runId}-${fence}${suffix}`;
}

/** Empty for anything else that is in the folder. */
function spillNameIn(fileName: string): readonly SpillName[] {
  const [, runId, fence] = /^(.+)-(\d+)\.spill$/.exec(fileName) ?? [];
  const name = decodeSpillName({ runId, fence: Number(fence) });
  return name === undefined ? [] : [name];
}

/** The folder's id: it stays with the folder wherever that is moved, and another folder's copy isn't taken for ours. */
async function loadOrCreatePlaceId(path: string): Promise<string> {
  const file = join(path, placeFile);
  const existing = await readPlaceId(path);
  if (/^[0-9a-f]{32}$/.test(existing)) return existing;
  const temporary = `${file}.${randomBytes(8).toString("hex")}`;
  const handle = await open(temporary, "wx", 0o600);
  try {
    await handle.writeFile(randomBytes(16).toString("hex"));
    await handle.sync();
  } finally {
    await handle.close();
  }
  try {
    // If two processes create one at the same time, the first wins.
    await link(temporary, file);
  } catch (error) {
    if (!hasCode(error, "EEXIST")) throw error;
  } finally {
    await rm(temporary, { force: true });
  }
  await syncFolder(path);
  return readFile(file, "utf8");
}

function readPlaceId(path: string): Promise<string> {
  return readFile(join(path, placeFile), "utf8").catch(() => "");
}

/** Removes the reserves of dead processes. Live ones still own theirs: the pid is in the name. */
async function removeStaleReserves(path: string): Promise<void> {
  for (const name of await readdir(path)) {
    const pid = /\.reserve\.(\d+)$/.exec(name)?.[1];
    if (pid !== undefined && !isAlive(Number(pid))) await rm(join(path, name), { force: true });
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return !hasCode(error, "ESRCH");
  }
}

async function readFileStart(file: string, maxBytes: number): Promise<Buffer> {
  // Anything may be in the folder: a pipe would block, and a link leads elsewhere.
  const flags = constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOFOLLOW;
  const handle = await open(file, flags);
  try {
    const stats = await handle.stat();
    const size = stats.isFile() ? stats.size : 0;
    const bytes = Buffer.alloc(Math.min(size, maxBytes));
    let count = 0;
    while (count < bytes.length) {
      const { bytesRead } = await handle.read(bytes, count, bytes.length - count, count);
      if (bytesRead === 0) break;
      count += bytesRead;
    }
    return bytes.subarray(0, count);
  } finally {
    await handle.close();
  }
}

async function syncFolder(path: string): Promise<void> {
  const handle = await open(path, "r");
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

function hasCode(error: unknown, code: string): boolean {
  return error instanceof Error && "code" in error && error.code === code;
}
