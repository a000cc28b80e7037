import { createReadStream } from "node:fs";
import { lstat, open, readdir, stat } from "node:fs/promises";
import { basename, join, relative, sep } from "node:path";

import { systemCode } from "../../../util/outcome.ts";
import type { Report } from "./folder.ts";
import { ArchiveRefused, ZipArchive } from "./zip.ts";

/** A file of an export, in a folder or in an archive. */
export interface ExportFile {
  /** Below the export, with slashes. */
  readonly path: string;
  readonly size: number;
  read(): AsyncIterable<Uint8Array>;
}

const maxFiles = 200_000;
const maxDepth = 12;
const maxNameLength = 1_000;
const maxArchives = 50;

/** An export as it was downloaded: an archive, the folder that it was unpacked to, several archives, or one file of it. */
export class ExportFiles {
  readonly all: readonly ExportFile[];
  readonly #archives: readonly ZipArchive[];

  private constructor(all: readonly ExportFile[], archives: readonly ZipArchive[]) {
    this.all = all;
    this.#archives = archives;
  }

  /** Throws in words for a person if it can't be read at all. */
  static async open(path: string, report: Report): Promise<ExportFiles> {
    const info = await stat(path).catch((error: unknown) => {
      throw new Error(`${path} can't be read (${systemCode(error) ?? "unknown error"}).`);
    });
    if (info.isDirectory()) return ExportFiles.#openFolder(path, report);
    if (!(await isArchive(path)))
      return new ExportFiles([fileOnDisk(path, basename(path), info.size)], []);
    const archive = await ZipArchive.open(path);
    return new ExportFiles(filesIn(archive, "", report), [archive]);
  }

  static async #openFolder(root: string, report: Report): Promise<ExportFiles> {
    const files = await listFolder(root, report);
    // A download may come as several archives; a folder of downloads has others, too.
    if (files.some(({ path }) => path.endsWith(".json"))) return new ExportFiles(files, []);
    const archives: ZipArchive[] = [];
    for (const { path } of files.filter((file) => /^[^/]+\.zip$/iu.test(file.path))) {
      if (archives.length >= maxArchives) break;
      try {
        const archive = await ZipArchive.open(join(root, path));
        archives.push(archive);
        files.push(...filesIn(archive, `${path}/`, report));
      } catch (error) {
        if (!(error instanceof ArchiveRefused)) throw error;
        report({ code: "unreadable", outcome: "damaged", path, text: error.message });
      }
    }
    return new ExportFiles(files, archives);
  }

  /** In the order of their names. */
  named(pattern: RegExp): readonly ExportFile[] {
    return this.all
      .filter(({ path }) => pattern.test(path))
      .toSorted((a, b) => (a.path < b.path ? -1 : 1));
  }

  async close(): Promise<void> {
    for (const archive of this.#archives) await archive.close();
  }
}

/** All of a file. `null`: it is too large or damaged, which is reported. */
export async function readWhole(
  file: ExportFile,
  limit: number,
  report: Report,
): Promise<Buffer | null> {
  const { path, size } = file;
  if (size > limit) {
    const text = `It has ${size} bytes; the limit is ${limit}.`;
    report({ code: "too_large", outcome: "skipped", path, text });
    return null;
  }
  try {
    const parts: Uint8Array[] = [];
    for await (const part of file.read()) parts.push(part);
    return Buffer.concat(parts);
  } catch (error) {
    report({ code: "unreadable", outcome: "damaged", path, text: whyUnreadable(error) });
    return null;
  }
}

export function whyUnreadable(error: unknown): string {
  if (error instanceof ArchiveRefused) return error.message;
  return `It can't be read (${systemCode(error) ?? "unknown error"}).`;
}

async function isArchive(path: string): Promise<boolean> {
  const file = await open(path, "r");
  try {
    const start = Buffer.alloc(4);
    await file.read(start, 0, 4, 0);
    return start.toString("latin1") === "PK\u0003\u0004";
  } finally {
    await file.close();
  }
}

function fileOnDisk(path: string, name: string, size: number): ExportFile {
  return { path: name, size, read: () => createReadStream(path, { highWaterMark: 256 * 1024 }) };
}

/** Names that lead elsewhere, or that are there twice, are left out with a word. */
function filesIn(archive: ZipArchive, prefix: string, report: Report): ExportFile[] {
  const files = new Map<string, ExportFile>();
  for (const entry of archive.entries) {
    if (entry.name.endsWith("/") || entry.name.startsWith("__MACOSX/")) continue;
    const path = prefix + entry.name;
    if (!isPlainName(entry.name) || files.has(path)) {
      const text = files.has(path)
        ? "The archive has two files of this name; the first was read."
        : "Its name leads out of the archive, so it was not read.";
      const name = path.toWellFormed().slice(0, 200);
      report({ code: "link", outcome: "skipped", path: name, text });
      continue;
    }
    files.set(path, { path, size: entry.size, read: () => archive.read(entry) });
  }
  return [...files.values()];
}

function isPlainName(name: string): boolean {
  return (
    name.length <= maxNameLength &&
    // oxlint-disable-next-line no-control-regex
    !/[\0-\u001F\u007F\\]/u.test(name) &&
    name.split("/").every((part) => part !== "" && part !== "." && part !== "..") &&
    !/^[A-Za-z]:/u.test(name)
  );
}

async function listFolder(root: string, report: Report): Promise<ExportFile[]> {
  const files: ExportFile[] = [];
  const folders = [{ folder: root, depth: 0 }];
  for (const { folder, depth } of folders) {
    const entries = await readdir(folder, { withFileTypes: true }).catch((error: unknown) => {
      const path = nameBelow(root, folder);
      report({ code: "unreadable", outcome: "damaged", path, text: whyUnreadable(error) });
      return [];
    });
    for (const entry of entries.toSorted((a, b) => (a.name < b.name ? -1 : 1))) {
      const place = join(folder, entry.name);
      const path = nameBelow(root, place);
      if (entry.isSymbolicLink())
        report({
          code: "link",
          outcome: "skipped",
          path,
          text: "It is a link, so it was not followed.",
        });
      else if (entry.isDirectory() && depth < maxDepth)
        folders.push({ folder: place, depth: depth + 1 });
      else if (entry.isFile() && files.length < maxFiles) {
        const info = await lstat(place).catch(() => null);
        if (info !== null) files.push(fileOnDisk(place, path, info.size));
      }
    }
  }
  return files;
}

function nameBelow(root: string, place: string): string {
  return relative(root, place).split(sep).join("/");
}
