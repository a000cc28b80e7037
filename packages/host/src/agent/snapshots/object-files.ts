import { createHash, randomBytes } from "node:crypto";
import { access, mkdir, open, readFile, rename, unlink } from "node:fs/promises";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { constants, deflate, inflate } from "node:zlib";

const compress = promisify(deflate);
const expand = promisify(inflate);

const objectName = /^[0-9a-f]{40}$/;

/** More than any file that is saved. */
const maxObjectBytes = 64 * 1024 * 1024;

/** Files named by what they contain, as git stores a file's content: git can read them, and none is needed to. */
export class ObjectFiles {
  readonly #folder: string;
  readonly #onWrite: (bytes: number) => void;

  constructor(folder: string, onWrite: (bytes: number) => void) {
    this.#folder = folder;
    this.#onWrite = onWrite;
  }

  static idOf(content: Uint8Array): string {
    return createHash("sha1").update(`blob ${content.byteLength}\0`).update(content).digest("hex");
  }

  async has(id: string): Promise<boolean> {
    return access(this.#path(id)).then(
      () => true,
      () => false,
    );
  }

  /** `synced`: a power cut right after this does not lose it. */
  async put(content: Uint8Array, durability: "synced" | "cached"): Promise<string> {
    const id = ObjectFiles.idOf(content);
    if (await this.has(id)) return id;
    const path = this.#path(id);
    const bytes = await compress(
      Buffer.concat([Buffer.from(`blob ${content.byteLength}\0`), content]),
      { level: constants.Z_BEST_SPEED },
    );
    await mkdir(dirname(path), { recursive: true, mode: 0o700 });
    const fresh = `${path}.${randomBytes(6).toString("hex")}.new`;
    try {
      const handle = await open(fresh, "wx", 0o600);
      try {
        await handle.writeFile(bytes);
        if (durability === "synced") await handle.sync();
      } finally {
        await handle.close();
      }
      await rename(fresh, path);
      this.#onWrite(bytes.byteLength);
    } catch (error) {
      await unlink(fresh).catch(() => undefined);
      throw error;
    }
    return id;
  }

  /** `null` if it is not here, or is not what it was. */
  async get(id: string): Promise<Uint8Array | null> {
    if (!objectName.test(id)) return null;
    try {
      const bytes = await expand(await readFile(this.#path(id)), {
        maxOutputLength: maxObjectBytes,
      });
      const end = bytes.indexOf(0);
      const content = bytes.subarray(end + 1);
      return end > 0 && ObjectFiles.idOf(content) === id ? content : null;
    } catch {
      return null;
    }
  }

  #path(id: string): string {
    return join(this.#folder, id.slice(0, 2), id.slice(2));
  }
}
