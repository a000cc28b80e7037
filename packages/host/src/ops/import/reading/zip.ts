import { type FileHandle, open } from "node:fs/promises";
import { pipeline } from "node:stream";
import { crc32, createInflateRaw } from "node:zlib";

/** Why an archive isn't read, in a sentence for a person. */
export class ArchiveRefused extends Error {
  constructor(message: string) {
    super(message);
    this.name = "ArchiveRefused";
  }
}

export interface ZipEntry {
  /** As it stands there: it may lead anywhere. */
  readonly name: string;
  readonly size: number;
  readonly packedSize: number;
  readonly method: number;
  readonly checksum: number;
  readonly isEncrypted: boolean;
  readonly at: number;
}

const signature = { end: 0x06054b50, end64: 0x06064b50, locator64: 0x07064b50 } as const;
const headSignature = { entry: 0x02014b50, content: 0x04034b50 } as const;
const method = { stored: 0, deflated: 8 } as const;
const flag = { encrypted: 0x0001, utf8: 0x0800 } as const;
const full32 = 0xffff_ffff;
const endLength = 22;
const maxCommentLength = 65_535;
const maxDirectoryBytes = 256 * 1024 * 1024;
const chunkBytes = 256 * 1024;
/** Texts are packed to a tenth or a fiftieth. Whatever unpacks to more than this is made to fill a disk. */
const maxRatio = 250;
const freeBytes = 64 * 1024 * 1024;

const damaged = "The archive is damaged. Download it again.";

/**
 * A zip archive on disk, read at the places where its entries are. What it says of its sizes may be a lie, and its entries
 * may share their bytes: no more is unpacked than it says, and not more than an honest archive would hold.
 */
export class ZipArchive {
  readonly entries: readonly ZipEntry[];
  readonly #file: FileHandle;

  private constructor(file: FileHandle, entries: readonly ZipEntry[]) {
    this.#file = file;
    this.entries = entries;
  }

  static async open(path: string): Promise<ZipArchive> {
    const file = await open(path, "r");
    try {
      const { size } = await file.stat();
      const entries = readDirectory(await readDirectoryBytes(file, size));
      const packed = entries.reduce((sum, entry) => sum + entry.packedSize, 0);
      if (packed > size) throw new ArchiveRefused(damaged);
      const unpacked = entries.reduce((sum, entry) => sum + entry.size, 0);
      const isBomb = entries.some(
        (entry) => entry.size > freeBytes && entry.size > entry.packedSize * maxRatio,
      );
      if (isBomb || unpacked > freeBytes + size * maxRatio)
        throw new ArchiveRefused(
          "The archive would unpack to far more than any export contains, so it was not read.",
        );
      return new ZipArchive(file, entries);
    } catch (error) {
      await file.close();
      if (error instanceof RangeError) throw new ArchiveRefused(damaged);
      throw error;
    }
  }

  /** Throws at the end if the bytes are not those that were packed. */
  async *read(entry: ZipEntry): AsyncGenerator<Uint8Array> {
    if (entry.isEncrypted)
      throw new ArchiveRefused("It is encrypted. Unpack the archive and give the folder.");
    if (entry.method !== method.stored && entry.method !== method.deflated)
      throw new ArchiveRefused(
        "Its compression method is not supported. Unpack the archive and give the folder.",
      );
    let length = 0;
    let checksum = 0;
    for await (const chunk of this.#unpack(entry)) {
      length += chunk.length;
      if (length > entry.size) throw new ArchiveRefused(damaged);
      checksum = crc32(chunk, checksum);
      yield chunk;
    }
    if (length !== entry.size || checksum !== entry.checksum) throw new ArchiveRefused(damaged);
  }

  #unpack(entry: ZipEntry): AsyncIterable<Uint8Array> {
    if (entry.method === method.stored) return this.#packed(entry);
    const inflate = createInflateRaw({ chunkSize: chunkBytes });
    // What goes wrong reaches whoever reads from it.
    pipeline(this.#packed(entry), inflate, () => {});
    return inflate;
  }

  async *#packed({ at, packedSize }: ZipEntry): AsyncGenerator<Uint8Array> {
    const head = await readAt(this.#file, at, 30);
    if (head.length < 30 || head.readUInt32LE(0) !== headSignature.content)
      throw new ArchiveRefused(damaged);
    const from = at + 30 + head.readUInt16LE(26) + head.readUInt16LE(28);
    for (let done = 0; done < packedSize;) {
      const chunk = await readAt(this.#file, from + done, Math.min(chunkBytes, packedSize - done));
      if (chunk.length === 0) throw new ArchiveRefused(damaged);
      done += chunk.length;
      yield chunk;
    }
  }

  close(): Promise<void> {
    return this.#file.close();
  }
}

async function readAt(file: FileHandle, at: number, length: number): Promise<Buffer> {
  const buffer = Buffer.alloc(length);
  const { bytesRead } = await file.read(buffer, 0, length, at);
  return buffer.subarray(0, bytesRead);
}

async function readDirectoryBytes(file: FileHandle, size: number): Promise<Buffer> {
  const tailLength = Math.min(size, endLength + maxCommentLength);
  const tail = await readAt(file, size - tailLength, tailLength);
  let end = tail.length - endLength;
  while (end >= 0 && tail.readUInt32LE(end) !== signature.end) end -= 1;
  if (end < 0) throw new ArchiveRefused("The end of the archive is missing. Download it again.");
  let length = tail.readUInt32LE(end + 12);
  let at = tail.readUInt32LE(end + 16);
  const locator = end - 20;
  if (locator >= 0 && tail.readUInt32LE(locator) === signature.locator64) {
    const end64 = await readAt(file, Number(tail.readBigUInt64LE(locator + 8)), 56);
    if (end64.readUInt32LE(0) !== signature.end64) throw new ArchiveRefused(damaged);
    length = Number(end64.readBigUInt64LE(40));
    at = Number(end64.readBigUInt64LE(48));
  }
  if (length > maxDirectoryBytes || at + length > size) throw new ArchiveRefused(damaged);
  return readAt(file, at, length);
}

function readDirectory(bytes: Buffer): readonly ZipEntry[] {
  const entries: ZipEntry[] = [];
  for (let at = 0; at + 46 <= bytes.length;) {
    if (bytes.readUInt32LE(at) !== headSignature.entry) throw new ArchiveRefused(damaged);
    const flags = bytes.readUInt16LE(at + 8);
    const nameEnd = at + 46 + bytes.readUInt16LE(at + 28);
    const next = nameEnd + bytes.readUInt16LE(at + 30) + bytes.readUInt16LE(at + 32);
    const encoding = (flags & flag.utf8) === 0 ? "latin1" : "utf8";
    const large = largeSizes(bytes.subarray(nameEnd, nameEnd + bytes.readUInt16LE(at + 30)), {
      size: bytes.readUInt32LE(at + 24),
      packedSize: bytes.readUInt32LE(at + 20),
      at: bytes.readUInt32LE(at + 42),
    });
    entries.push({
      name: bytes.toString(encoding, at + 46, nameEnd),
      method: bytes.readUInt16LE(at + 10),
      checksum: bytes.readUInt32LE(at + 16),
      isEncrypted: (flags & flag.encrypted) !== 0,
      ...large,
    });
    at = next;
  }
  return entries;
}

type Sizes = Pick<ZipEntry, "size" | "packedSize" | "at">;

/** What doesn't fit into 32 bits stands in an extra field, in this order. */
function largeSizes(extra: Buffer, given: Sizes): Sizes {
  const sizes = { ...given };
  for (let at = 0; at + 4 <= extra.length;) {
    const length = extra.readUInt16LE(at + 2);
    if (extra.readUInt16LE(at) === 1) {
      let value = at + 4;
      for (const name of ["size", "packedSize", "at"] as const) {
        if (sizes[name] !== full32) continue;
        sizes[name] = Number(extra.readBigUInt64LE(value));
        value += 8;
      }
    }
    at += 4 + length;
  }
  return sizes;
}
