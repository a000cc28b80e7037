import { mkdir, open, readdir, rm, stat } from "node:fs/promises";
import { basename, dirname, extname, join } from "node:path";
import { importUploadBytes } from "@holdfast/protocol";

/** Left behind by somebody who never imported it. */
const keptMs = 24 * 60 * 60 * 1000;

export interface UploadPiece {
  readonly id: string;
  readonly name: string;
  readonly at: number;
  readonly bytes: Uint8Array;
}

export type ReceivedPiece =
  | { readonly path: string; readonly bytes: number }
  | "import_upload_gap"
  | "import_upload_too_large";

/** Files that somebody sends to import them, in a folder of the home, until they are imported. */
export class ImportUploads {
  readonly #folder: string;

  constructor(folder: string) {
    this.#folder = folder;
  }

  /** A piece that was sent twice is written to the same place. */
  async receive({ id, name, at, bytes }: UploadPiece): Promise<ReceivedPiece> {
    if (at + bytes.length > importUploadBytes) return "import_upload_too_large";
    await mkdir(this.#folder, { recursive: true, mode: 0o700 });
    if (at === 0) await this.#removeOld();
    const ending = /^\.[a-z0-9]{1,8}$/i.test(extname(name)) ? extname(name).toLowerCase() : "";
    const path = join(this.#folder, `${id}${ending}`);
    const file = await open(path, at === 0 ? "w" : "a+", 0o600);
    try {
      const { size } = await file.stat();
      if (at > size) return "import_upload_gap";
      // The end of a piece that was cut off, or of one that was sent twice.
      await file.truncate(at);
      await file.appendFile(bytes);
    } finally {
      await file.close();
    }
    return { path, bytes: at + bytes.length };
  }

  /** What was imported isn't needed any more. */
  async removeIfUpload(path: string): Promise<void> {
    if (dirname(path) === this.#folder) await rm(path, { force: true });
  }

  async #removeOld(): Promise<void> {
    const before = Date.now() - keptMs;
    for (const name of await readdir(this.#folder)) {
      const path = join(this.#folder, basename(name));
      const info = await stat(path).catch(() => null);
      if (info !== null && info.mtimeMs < before) await rm(path, { force: true, recursive: true });
    }
  }
}
