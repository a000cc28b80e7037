import { promisify } from "node:util";
import { gunzip, inflateRaw } from "node:zlib";

export type Unpacked =
  | { readonly ok: true; readonly files: ReadonlyMap<string, Uint8Array> }
  | { readonly ok: false; readonly reason: string };

const limits = { files: 2_000, fileBytes: 4 * 1024 * 1024, bytes: 32 * 1024 * 1024 } as const;
const maxNameLength = 400;
const maxDepth = 12;

/** Leaves out what unpacking refuses, with the reason for a person. */
class Refusal extends Error {}

/** The plain files of a zip or tar.gz archive, in memory. Its names cannot lead out of a folder, and links are refused. */
export async function unpackArchive(bytes: Uint8Array): Promise<Unpacked> {
  try {
    if (startsWith(bytes, "504b0304")) return { ok: true, files: await unpackZip(bytes) };
    if (startsWith(bytes, "1f8b")) return { ok: true, files: await unpackTar(bytes) };
    return {
      ok: false,
      reason: "It is neither a zip nor a tar.gz archive. Pack it again as one of them.",
    };
  } catch (error) {
    if (error instanceof Refusal) return { ok: false, reason: error.message };
    return {
      ok: false,
      reason: "The archive is damaged or too large. Pack it again, with fewer files.",
    };
  }
}

function startsWith(bytes: Uint8Array, hex: string): boolean {
  return Buffer.from(bytes.subarray(0, hex.length / 2)).toString("hex") === hex;
}

/** Counts what an archive holds before it is taken. */
class Intake {
  readonly files = new Map<string, Uint8Array>();
  readonly #names = new Set<string>();
  #bytes = 0;

  /** The name to store it under; `null` for what is left out. */
  admit(name: string, size: number): string | null {
    if (name.endsWith("/") || leftOut.test(name)) return null;
    const path = safeName(name);
    // Some file systems do not tell cases apart.
    if (this.#names.has(path.toLowerCase()))
      throw new Refusal(`${quote(name)} is there twice. Remove one of them.`);
    this.#names.add(path.toLowerCase());
    if (this.#names.size > limits.files)
      throw new Refusal(`The archive has more than ${limits.files} files.`);
    this.#bytes += size;
    if (size > limits.fileBytes || this.#bytes > limits.bytes)
      throw new Refusal(
        `${quote(name)} is too large: a file may have 4 MiB, and all files together 32 MiB.`,
      );
    return path;
  }
}

const leftOut = /^(?:__MACOSX\/|(?:.*\/)?(?:\.git\/|\.DS_Store$))/u;

function safeName(name: string): string {
  const parts = name.replace(/^(?:\.\/)+/u, "").split("/");
  const isSafe =
    name.length <= maxNameLength &&
    parts.length <= maxDepth &&
    // oxlint-disable-next-line no-control-regex
    !/[\0-\u001F\u007F\\:]/u.test(name) &&
    parts.every((part) => part !== "" && part !== "." && part !== "..");
  if (!isSafe)
    throw new Refusal(`${quote(name)} is not a valid file name in a skill. Rename the file.`);
  return parts.join("/");
}

function quote(name: string): string {
  return JSON.stringify(name.slice(0, 120));
}

const signatures = { end: "PK\u0005\u0006", entry: 0x02014b50, content: 0x04034b50 } as const;
const methods = { stored: 0, deflated: 8 } as const;
const utf8Names = 0x0800;

/**
 * What a zip archive says of its sizes may be a lie, and its entries may share their bytes: no more is inflated than was
 * admitted, and nothing is read twice.
 */
async function unpackZip(bytes: Uint8Array): Promise<ReadonlyMap<string, Uint8Array>> {
  const zip = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const intake = new Intake();
  // A read beyond the end throws.
  const end = zip.lastIndexOf(signatures.end, undefined, "latin1");
  if (end === -1) throw new Refusal("The archive is damaged: its end is missing. Pack it again.");
  const count = zip.readUInt16LE(end + 10);
  let at = zip.readUInt32LE(end + 16);
  let unread = zip.length;
  for (let index = 0; index < count; index += 1) {
    if (zip.readUInt32LE(at) !== signatures.entry) throw new Refusal("The archive is damaged.");
    const encoding = (zip.readUInt16LE(at + 8) & utf8Names) === 0 ? "latin1" : "utf8";
    const nameEnd = at + 46 + zip.readUInt16LE(at + 28);
    const name = zip.toString(encoding, at + 46, nameEnd);
    const packedSize = zip.readUInt32LE(at + 20);
    const path = intake.admit(name, zip.readUInt32LE(at + 24));
    unread -= packedSize;
    if (unread < 0) throw new Refusal("The archive is damaged.");
    if (path !== null) intake.files.set(path, await zipContent(zip, at, packedSize));
    at = nameEnd + zip.readUInt16LE(at + 30) + zip.readUInt16LE(at + 32);
  }
  return intake.files;
}

async function zipContent(zip: Buffer, entry: number, packedSize: number): Promise<Uint8Array> {
  const method = zip.readUInt16LE(entry + 10);
  const size = zip.readUInt32LE(entry + 24);
  const local = zip.readUInt32LE(entry + 42);
  if (zip.readUInt32LE(local) !== signatures.content) throw new Refusal("The archive is damaged.");
  const from = local + 30 + zip.readUInt16LE(local + 26) + zip.readUInt16LE(local + 28);
  const packed = zip.subarray(from, from + packedSize);
  const isStored = method === methods.stored;
  if (!isStored && method !== methods.deflated)
    throw new Refusal("It is packed in a way that is not known here. Pack it as a plain zip.");
  const content = isStored
    ? packed
    : await promisify(inflateRaw)(packed, { maxOutputLength: Math.max(1, size) });
  if (content.length !== size) throw new Refusal("The archive is damaged.");
  return content;
}

const block = 512;
const maxTarBytes = limits.bytes + (limits.files + 16) * 3 * block;
const fileTypes: ReadonlySet<string> = new Set(["0", "\0", "7"]);

/** Of a tar archive only plain files are read: names of ustar, and longer ones of GNU and pax. */
async function unpackTar(bytes: Uint8Array): Promise<ReadonlyMap<string, Uint8Array>> {
  const tar = await promisify(gunzip)(bytes, { maxOutputLength: maxTarBytes });
  const intake = new Intake();
  let longName: string | null = null;
  for (let at = 0; at + block <= tar.length;) {
    const header = tar.subarray(at, at + block);
    if (header.every((byte) => byte === 0)) break;
    const size = Number.parseInt(textIn(header, 124, 12).trim() || "0", 8);
    if (!Number.isSafeInteger(size) || size < 0)
      throw new Refusal("The archive is damaged. Download or pack it again.");
    const content = tar.subarray(at + block, at + block + size);
    if (content.length < size)
      throw new Refusal("The archive ends early. Download or pack it again.");
    at += block + Math.ceil(size / block) * block;
    const type = String.fromCharCode(header[156] ?? 0);
    if (type === "L") longName = textIn(content, 0, content.length);
    else if (type === "x") longName = paxPath(content) ?? longName;
    else if (type === "5" || type === "g") longName = null;
    else if (!fileTypes.has(type))
      throw new Refusal(
        `${quote(longName ?? nameIn(header))} is a link or a device. Pack the archive without it.`,
      );
    else {
      const path = intake.admit(longName ?? nameIn(header), size);
      if (path !== null) intake.files.set(path, content);
      longName = null;
    }
  }
  return intake.files;
}

function textIn(bytes: Uint8Array, from: number, length: number): string {
  const field = Buffer.from(bytes.subarray(from, from + length));
  const end = field.indexOf(0);
  return field.subarray(0, end === -1 ? field.length : end).toString("utf8");
}

function nameIn(header: Uint8Array): string {
  const prefix = textIn(header, 257, 5) === "ustar" ? textIn(header, 345, 155) : "";
  const name = textIn(header, 0, 100);
  return prefix === "" ? name : `${prefix}/${name}`;
}

/** Records of the form `27 path=some/long/name`. */
function paxPath(content: Uint8Array): string | null {
  const found = /(?:^|\n)\d+ path=(?<path>[^\n]*)\n/u.exec(Buffer.from(content).toString("utf8"));
  return found?.groups?.["path"] ?? null;
}
