import {
  type FileHandle,
  link,
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
  SpillRef,
} from "@holdfast/engine";
import {
  encodeEnd,
  encodeEvents,
  encodeRecord,
  encodeHeader,
  decodeHeader,
  decodeSpill,
} from "./format.ts";

/** Behind the header and its copy. */
const firstRecordNumber = 2;

/**
 * A spill under the pen of its runner. Each call is one record and one sync. After a write that failed the next one goes to
 * the same place, so that half a record is never left in the middle.
 */
function createSpillFile(
  handle: FileHandle,
  begun: number,
  rest: { readonly remove: () => Promise<void>; readonly closed: () => void },
): SpillFile {
  let offset = begun;
  let number = firstRecordNumber;
  let isOpen = true;

  async function add(text: string): Promise<SpillResult> {
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
    rest.closed();
  }

  return {
    append: (events) => add(encodeEvents(events)),
    seal: (end) => add(encodeEnd(end)),
    close,
    async discard() {
      await rest.remove();
      await close();
    },
  };
}

async function writeAll(handle: FileHandle, bytes: Buffer, offset: number): Promise<void> {
  for (let done = 0; done < bytes.length;) {
    const { bytesWritten } = await handle.write(bytes, done, bytes.length - done, offset + done);
    done += bytesWritten;
  }
}

function spillFailure(error: unknown): Extract<SpillResult, { status: "failed" }> {
  const code = error instanceof Error && "code" in error ? error.code : undefined;
  const isFull = code === "ENOSPC" || code === "EDQUOT" || code === "EFBIG";
  const message = error instanceof Error ? error.message : String(error);
  return { status: "failed", code: isFull ? "spill_full" : "spill_unavailable", message };
}

export interface SpillFolderOptions {
  /** Room that is kept for each spill beforehand. */
  readonly reserveBytes?: number;
  /** For so many spills at once. */
  readonly maxReserves?: number;
}

/** More than the largest message with its calls. A spill that outgrows it goes on in what the disk still has. */
const defaultReserveBytes = 2 * 1024 * 1024;
const defaultMaxReserves = 4;
/** A file that is larger was not written by us. */
const maxFileBytes = 64 * 1024 * 1024;
const maxHeaderBytes = 64 * 1024;
const placeFile = "place";
const suffix = ".spill";

/**
 * A folder of spills: one file for each run and fence, closed to everybody else. Room is kept in files of zeros, so that a
 * disk that fills up later does not take it away; a spill begins as one of them and gets its name once its header is durable.
 */
export async function openSpillFolder(
  path: string,
  {
    reserveBytes: roomBytes = defaultReserveBytes,
    maxReserves: mostReserves = defaultMaxReserves,
  }: SpillFolderOptions = {},
): Promise<SpillStore> {
  await mkdir(path, { recursive: true, mode: 0o700 });
  const place = await loadOrCreatePlaceId(path);
  await removeStaleReserves(path);
  const reserves: string[] = [];
  const writing = new Set<string>();
  let filling: Promise<void> | undefined;

  async function fill(): Promise<void> {
    const name = join(path, `${randomBytes(8).toString("hex")}.reserve.${process.pid}`);
    try {
      const handle = await open(name, "wx", 0o600);
      try {
        await writeAll(handle, Buffer.alloc(roomBytes), 0);
        await handle.sync();
      } finally {
        await handle.close();
      }
      reserves.push(name);
    } catch {
      // Without room beforehand a spill takes what there is when it is needed.
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
      // Twice: a header that is lost would take everything behind it along.
      const head = Buffer.concat(
        [0, 1].map((number) => encodeRecord(number, encodeHeader(header))),
      );
      await writeAll(handle, head, 0);
      await handle.datasync();
      await rename(source, target);
      await syncFolder(path);
      writing.add(name);
      const remove = () => forget(header);
      const closed = () => void writing.delete(name);
      return { status: "begun", file: createSpillFile(handle, head.length, { remove, closed }) };
    } catch (error) {
      if (handle) await handle.close().catch(() => undefined);
      return spillFailure(error);
    }
  }

  async function forget(ref: SpillRef): Promise<void> {
    const file = join(path, fileNameOf(ref));
    try {
      // First emptied: where it cannot be removed, what it held must not be found a second time.
      await truncateFile(file);
      await rm(file, { force: true });
      await syncFolder(path);
    } catch {
      // It is gone, or empty, or nothing can be done about it now.
    }
  }

  async function read(ref: SpillRef): Promise<SpillReadResult> {
    try {
      const answer = decodeSpill(await readFileStart(join(path, fileNameOf(ref)), maxFileBytes));
      if (answer.status === "arriving" || answer.status === "known_empty") return answer;
      const { session, runId, fence } = answer.header;
      // A file under another run's name is nobody's.
      const isIts = session === ref.session && runId === ref.runId && fence === ref.fence;
      return isIts ? answer : { status: "arriving" };
    } catch (error) {
      // A folder that is gone for the moment proves nothing about what was in it.
      const isKnown =
        hasCode(error, "ENOENT") && ref.place === place && (await readPlaceId(path)) === place;
      return { status: isKnown ? "known_empty" : "arriving" };
    }
  }

  return {
    place,
    async reserve() {
      if (reserves.length < Math.min(mostReserves, writing.size + 1))
        await (filling ??= fill().finally(() => (filling = undefined)));
    },
    begin,
    read,
    forget,
    async left() {
      const names = await readdir(path).catch(() => []);
      const others = names.filter((name) => name.endsWith(suffix) && !writing.has(name));
      const headers = await Promise.all(
        others.map((name) =>
          readFileStart(join(path, name), maxHeaderBytes).then(decodeHeader, () => undefined),
        ),
      );
      return headers.filter((each) => each !== undefined);
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

function fileNameOf({ runId, fence }: SpillRef): string {
  return `${runId}-${fence}${suffix}`;
}

/** The folder's own name: it stays with the folder wherever that goes, and a copy of another's is not taken for ours. */
async function loadOrCreatePlaceId(path: string): Promise<string> {
  const file = join(path, placeFile);
  const known = await readPlaceId(path);
  if (/^[0-9a-f]{32}$/.test(known)) return known;
  const made = `${file}.${randomBytes(8).toString("hex")}`;
  const handle = await open(made, "wx", 0o600);
  try {
    await handle.writeFile(randomBytes(16).toString("hex"));
    await handle.sync();
  } finally {
    await handle.close();
  }
  try {
    // Of two that make one at the same time the first has named it.
    await link(made, file);
  } catch (error) {
    if (!hasCode(error, "EEXIST")) throw error;
  } finally {
    await rm(made, { force: true });
  }
  await syncFolder(path);
  return readFile(file, "utf8");
}

function readPlaceId(path: string): Promise<string> {
  return readFile(join(path, placeFile), "utf8").catch(() => "");
}

/** Room that processes before us had kept. Those that still live have it in their hands by its name alone. */
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

async function readFileStart(file: string, most: number): Promise<Buffer> {
  // Anything may lie in a folder: a pipe would be waited for, and a link leads elsewhere.
  const flags = constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOFOLLOW;
  const handle = await open(file, flags);
  try {
    const stats = await handle.stat();
    const size = stats.isFile() ? stats.size : 0;
    const bytes = Buffer.alloc(Math.min(size, most));
    let done = 0;
    while (done < bytes.length) {
      const { bytesRead } = await handle.read(bytes, done, bytes.length - done, done);
      if (bytesRead === 0) break;
      done += bytesRead;
    }
    return bytes.subarray(0, done);
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
