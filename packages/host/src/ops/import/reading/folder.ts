import { constants } from "node:fs";
import { lstat, open, readdir, realpath } from "node:fs/promises";
import { join, sep } from "node:path";

import { systemCode } from "../../../util/outcome.ts";
import type { ImportFinding } from "../source.ts";

/** Larger files aren't read into memory. */
const maxFileBytes = 256 * 1024 * 1024;

/** A pipe without a writer would be waited for. */
const toRead = constants.O_RDONLY | constants.O_NONBLOCK;

export type Report = (finding: Omit<ImportFinding, "kind">) => void;

/** A folder of somebody else's, of which nothing is changed. A link that leads out of it is not followed. */
export class SourceFolder {
  readonly root: string;
  readonly #real: string;
  readonly #report: Report;

  private constructor(root: string, real: string, report: Report) {
    this.root = root;
    this.#real = real;
    this.#report = report;
  }

  static async open(root: string, report: Report): Promise<SourceFolder | null> {
    try {
      return new SourceFolder(root, await realpath(root), report);
    } catch {
      return null;
    }
  }

  /** Names in a folder of it, sorted. A folder that isn't there is empty. */
  async names(path: string): Promise<readonly string[]> {
    if (!(await this.#isInside(path))) return [];
    try {
      return (await readdir(join(this.root, path))).toSorted();
    } catch (error) {
      const code = systemCode(error);
      if (code !== "ENOENT" && code !== "ENOTDIR") this.#unreadable(path, code);
      return [];
    }
  }

  async kind(path: string): Promise<"file" | "folder" | "other" | null> {
    if (!(await this.#isInside(path))) return null;
    try {
      const info = await lstat(await realpath(join(this.root, path)));
      return info.isFile() ? "file" : info.isDirectory() ? "folder" : "other";
    } catch {
      return null;
    }
  }

  /** `null`: it isn't there, or can't be read, which is reported. */
  async read(path: string, limit = maxFileBytes): Promise<Uint8Array | null> {
    if (!(await this.#isInside(path))) return null;
    try {
      const file = await open(join(this.root, path), toRead);
      try {
        const info = await file.stat();
        if (!info.isFile()) {
          if (!info.isDirectory()) this.#unreadable(path, "not a file");
          return null;
        }
        if (info.size > limit) {
          this.#report({
            code: "too_large",
            outcome: "skipped",
            path,
            text: `It has ${info.size} bytes; the limit is ${limit}.`,
          });
          return null;
        }
        return await file.readFile();
      } finally {
        await file.close();
      }
    } catch (error) {
      const code = systemCode(error);
      if (code !== "ENOENT" && code !== "ENOTDIR") this.#unreadable(path, code);
      return null;
    }
  }

  /** Its beginning. */
  async readStart(path: string, bytes: number): Promise<Uint8Array | null> {
    if (!(await this.#isInside(path))) return null;
    try {
      const file = await open(join(this.root, path), toRead);
      try {
        if (!(await file.stat()).isFile()) return null;
        const buffer = Buffer.alloc(bytes);
        const { bytesRead } = await file.read(buffer, 0, bytes, 0);
        return buffer.subarray(0, bytesRead);
      } finally {
        await file.close();
      }
    } catch {
      return null;
    }
  }

  async readText(path: string): Promise<string | null> {
    const bytes = await this.read(path);
    return bytes === null ? null : new TextDecoder().decode(bytes);
  }

  async #isInside(path: string): Promise<boolean> {
    try {
      const real = await realpath(join(this.root, path));
      if (real === this.#real || real.startsWith(this.#real + sep)) return true;
      this.#report({
        code: "link",
        outcome: "skipped",
        path,
        text: "It leads out of the folder, so it was not followed.",
      });
      return false;
    } catch (error) {
      // What isn't there is inside; anything else can't be read anyway.
      return systemCode(error) === "ENOENT";
    }
  }

  #unreadable(path: string, code: string | undefined): void {
    this.#report({
      code: "unreadable",
      outcome: "damaged",
      path,
      text: `It can't be read (${code ?? "unknown error"}).`,
    });
  }
}
