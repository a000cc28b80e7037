import { readdir, readFile, realpath, stat } from "node:fs/promises";
import { homedir } from "node:os";
import { basename, extname, isAbsolute, join, relative, resolve, sep } from "node:path";
import { fileURLToPath } from "node:url";
import { chatStrings } from "../strings/chat.ts";
import type { Suggestion } from "./suggestions.ts";

const texts = chatStrings.files;

/** Longer files are attached instead of quoted. */
const maxQuotedBytes = 20_000;
/** As much as the host accepts of one file. */
const maxAttachedBytes = 25 * 1024 * 1024;

const pictureTypes: Readonly<Record<string, string>> = {
  ".png": "image/png",
  ".jpg": "image/jpeg",
  ".jpeg": "image/jpeg",
  ".gif": "image/gif",
  ".webp": "image/webp",
};

/** By their endings: a PDF may look like text, and is none. */
const attachedTypes: Readonly<Record<string, string>> = {
  ...pictureTypes,
  ".pdf": "application/pdf",
  ".mp3": "audio/mpeg",
  ".wav": "audio/wav",
  ".ogg": "audio/ogg",
  ".m4a": "audio/mp4",
  ".mp4": "video/mp4",
  ".webm": "video/webm",
};

/** A file that a message names: quoted if it is a short text, else to be attached. */
export type LocalFile =
  | { readonly kind: "quote"; readonly path: string; readonly text: string }
  | {
      readonly kind: "attach";
      readonly name: string;
      readonly mediaType: string;
      readonly bytes: Uint8Array<ArrayBuffer>;
    };

export type FoundFiles =
  | { readonly ok: true; readonly files: readonly LocalFile[] }
  | { readonly ok: false; readonly sentence: string };

/** The files that a message names as `@path`. Only files below `folder` are read; a name of no file is only a word. */
export async function findMentioned(text: string, folder: string): Promise<FoundFiles> {
  const files: LocalFile[] = [];
  for (const mention of mentionsIn(text)) {
    const path = await existingPath(mention, folder);
    if (path === undefined) continue;
    if (!isBelow(path, await realpath(folder)))
      return { ok: false, sentence: texts.outside(mention) };
    const file = await readLocalFile(path, relative(await realpath(folder), path));
    if (typeof file === "string") return { ok: false, sentence: file };
    if (file !== undefined) files.push(file);
  }
  return { ok: true, files };
}

/** A short text as a part of the message, fenced so that nothing in it ends the quote. */
export function quoteFile(file: LocalFile): string[] {
  if (file.kind !== "quote") return [];
  const longest = Math.max(0, ...Array.from(file.text.matchAll(/`+/g), ([run]) => run.length));
  const fence = "`".repeat(Math.max(3, longest + 1));
  const language = extname(file.path).slice(1);
  return [`${texts.quoted(file.path)}\n${fence}${language}\n${file.text.trimEnd()}\n${fence}`];
}

/** `@path`, or `@"path with blanks"`, each once. */
function mentionsIn(text: string): readonly string[] {
  const found = Array.from(
    text.matchAll(/(?<![^\s(])@(?:"([^"\n]+)"|([^\s"]+))/g),
    ([, quoted, bare]) => quoted ?? bare ?? "",
  );
  return [...new Set(found)].slice(0, 20);
}

/** With links resolved. A sentence may end behind a name: `Look at @a.ts.` */
async function existingPath(mention: string, folder: string): Promise<string | undefined> {
  for (const name of new Set([mention, mention.replace(/[).,;:!?]+$/, "")])) {
    try {
      return await realpath(resolve(folder, name));
    } catch {
      // It is no file, or not by this name.
    }
  }
  return undefined;
}

function isBelow(path: string, folder: string): boolean {
  const inside = relative(folder, path);
  return inside !== ".." && !inside.startsWith(`..${sep}`) && !isAbsolute(inside);
}

/** A sentence if it cannot be read, `undefined` for a folder. */
async function readLocalFile(path: string, name: string): Promise<LocalFile | string | undefined> {
  try {
    const { size, isFile } = await stat(path).then((found) => ({
      size: found.size,
      isFile: found.isFile(),
    }));
    if (!isFile) return undefined;
    if (size > maxAttachedBytes) return texts.tooLarge(name);
    const bytes = new Uint8Array(await readFile(path));
    const mediaType = attachedTypes[extname(path).toLowerCase()];
    const text = mediaType === undefined ? textIn(bytes) : undefined;
    if (text !== undefined && size <= maxQuotedBytes) return { kind: "quote", path: name, text };
    const type = mediaType ?? (text === undefined ? "application/octet-stream" : "text/plain");
    return { kind: "attach", name: basename(path), mediaType: type, bytes };
  } catch {
    return texts.unreadable(name);
  }
}

function textIn(bytes: Uint8Array): string | undefined {
  try {
    const text = new TextDecoder("utf-8", { fatal: true }).decode(bytes);
    return text.includes("\0") ? undefined : text;
  } catch {
    return undefined;
  }
}

/** The picture that a pasted or dropped path names, wherever it is; `undefined` for any other paste. */
export async function readPastedPicture(pasted: string): Promise<LocalFile | undefined> {
  const path = pastedPath(pasted);
  if (path === undefined || pictureTypes[extname(path).toLowerCase()] === undefined)
    return undefined;
  const file = await readLocalFile(path, basename(path));
  return typeof file === "object" ? file : undefined;
}

/** Whether a paste looks like the path of a picture, so that it is worth looking. */
export function namesPicture(pasted: string): boolean {
  const path = pastedPath(pasted);
  return path !== undefined && pictureTypes[extname(path).toLowerCase()] !== undefined;
}

/** Terminals quote a dropped path, escape its blanks, or pass an address. */
function pastedPath(pasted: string): string | undefined {
  const trimmed = pasted.trim();
  if (trimmed.includes("\n")) return undefined;
  const unquoted = /^(['"])(.*)\1$/.exec(trimmed)?.[2] ?? trimmed.replaceAll(/\\(.)/g, "$1");
  if (unquoted.startsWith("~/")) return join(homedir(), unquoted.slice(2));
  try {
    if (unquoted.startsWith("file://")) return fileURLToPath(unquoted);
  } catch {
    return undefined;
  }
  return isAbsolute(unquoted) ? unquoted : undefined;
}

const skippedFolders = new Set(["node_modules", "dist", "build", "target", "__pycache__", "venv"]);
const maxListed = 5_000;

/** The files below a folder, those that are not deep first. Hidden folders and those of build tools are left out. */
export async function listFiles(folder: string): Promise<readonly string[]> {
  const files: string[] = [];
  const open = [""];
  for (let at = 0; at < open.length && files.length < maxListed; at += 1) {
    const parent = open[at] ?? "";
    const entries = await readdir(join(folder, parent), { withFileTypes: true }).catch(() => []);
    for (const entry of entries.toSorted((a, b) => a.name.localeCompare(b.name))) {
      const path = parent === "" ? entry.name : `${parent}/${entry.name}`;
      const isHidden = entry.name.startsWith(".") || skippedFolders.has(entry.name);
      if (entry.isFile()) files.push(path);
      else if (entry.isDirectory() && !isHidden && open.length < maxListed) open.push(path);
    }
  }
  return files.slice(0, maxListed);
}

/** Ways to finish the `@path` that stands before the end of the line. */
export function suggestFiles(text: string, files: readonly string[]): readonly Suggestion[] {
  const [, before, typed] = /^(|.*[\s(])@([^\s"]*)$/s.exec(text) ?? [];
  if (before === undefined || typed === undefined) return [];
  const query = typed.toLowerCase();
  const rank = (path: string): number => {
    const lower = path.toLowerCase();
    if (lower.startsWith(query)) return 0;
    return basename(lower).startsWith(query) ? 1 : 2;
  };
  return files
    .filter((path) => path.toLowerCase().includes(query))
    .toSorted((a, b) => rank(a) - rank(b) || a.length - b.length)
    .slice(0, 50)
    .map((path) => {
      const mention = /[\s"]/.test(path) ? `@"${path}"` : `@${path}`;
      return { label: path, detail: "", text: `${before}${mention} `, effect: "insert" };
    });
}
