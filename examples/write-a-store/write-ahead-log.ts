import { type FileHandle, open } from "node:fs/promises";
import { dirname } from "node:path";
import { crc32 } from "node:zlib";

/** A file of JSON values, one per line, each after its checksum. A line counts once it is synced. */
export class WriteAheadLog {
  readonly #file: FileHandle;
  /** The offset of the next line. */
  #size: number;
  /** A write failed, so the file may have unconfirmed bytes beyond `#size`. */
  #isTorn = false;

  private constructor(file: FileHandle, size: number) {
    this.#file = file;
    this.#size = size;
  }

  /** Passes every value to `replay`, oldest first, and drops a last line that a crash cut short. */
  static async open(path: string, replay: (value: unknown) => Promise<void>) {
    const file = await open(path, "a+");
    try {
      const size = await replayLines(path, await file.readFile(), replay);
      await file.truncate(size);
      await file.sync();
      await syncFolder(dirname(path));
      return new WriteAheadLog(file, size);
    } catch (error) {
      await file.close();
      throw error;
    }
  }

  /** Appends all values with one sync. If it rejects, they do not count now, but may be replayed after a crash. */
  async append(values: readonly unknown[]): Promise<void> {
    const bytes = Buffer.from(values.map(encodeLine).join(""));
    if (this.#isTorn) await this.#file.truncate(this.#size);
    this.#isTorn = true;
    await this.#file.appendFile(bytes);
    await this.#file.datasync();
    this.#isTorn = false;
    this.#size += bytes.length;
  }

  close(): Promise<void> {
    return this.#file.close();
  }
}

/** Returns where the last whole line ends. */
async function replayLines(
  path: string,
  bytes: Buffer,
  replay: (value: unknown) => Promise<void>,
): Promise<number> {
  let size = 0;
  while (size < bytes.length) {
    const end = bytes.indexOf("\n", size);
    const value = end < 0 ? undefined : decodeLine(bytes.subarray(size, end).toString("utf8"));
    if (value === undefined) {
      const isLast = end < 0 || end === bytes.length - 1;
      if (isLast) break;
      throw new Error(`${path} is damaged at byte ${size}.`);
    }
    await replay(value);
    size = end + 1;
  }
  return size;
}

function encodeLine(value: unknown): string {
  const json = JSON.stringify(value);
  return `${checksum(json)} ${json}\n`;
}

function decodeLine(line: string): unknown {
  const json = line.slice(9);
  return line === `${checksum(json)} ${json}` ? JSON.parse(json) : undefined;
}

const checksum = (text: string): string => crc32(text).toString(16).padStart(8, "0");

/** Otherwise a power cut may lose a new file. */
async function syncFolder(path: string): Promise<void> {
  const folder = await open(path);
  await folder.sync();
  await folder.close();
}
