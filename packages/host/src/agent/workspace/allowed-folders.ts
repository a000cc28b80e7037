import { createHash } from "node:crypto";
import { readdir, readFile, realpath, unlink } from "node:fs/promises";
import { homedir } from "node:os";
import { join } from "node:path";

import type { AllowedFolder } from "@holdfast/protocol";
import { z } from "zod";

import { writeFileAtomically } from "../../util/atomic-file.ts";
import { belowRoot } from "./resolve-path.ts";

const storedFolder = z.object({ path: z.string().startsWith("/"), allowedAt: z.int() });
const fileName = /^(?<id>[0-9a-f]{16})\.json$/;

/**
 * The folders of this machine that the owner has allowed. They are kept in the home rather than in the store, because
 * a path means another folder on another machine; each has a file of its own, so that two hosts cannot lose one.
 */
export interface AllowedFolders {
  /** Oldest first. */
  list(): Promise<readonly AllowedFolder[]>;
  /** Keeps a folder, given without links. */
  add(path: string): Promise<AllowedFolder>;
  remove(id: string): Promise<"removed" | "not_found">;
}

export function openAllowedFolders(home: string): AllowedFolders {
  const folder = join(home, "allowed-folders");

  async function read(name: string): Promise<readonly AllowedFolder[]> {
    const id = fileName.exec(name)?.groups?.["id"];
    if (id === undefined) return [];
    const text = await readFile(join(folder, name), "utf8").catch(() => "null");
    const stored = storedFolder.safeParse(parseJson(text)).data;
    return stored === undefined || idOf(stored.path) !== id ? [] : [{ id, ...stored }];
  }

  return {
    async list() {
      const names = await readdir(folder).catch(() => []);
      const folders = (await Promise.all(names.map(read))).flat();
      return folders.toSorted((a, b) => a.allowedAt - b.allowedAt || (a.path < b.path ? -1 : 1));
    },
    async add(path) {
      const id = idOf(path);
      const [known] = await read(`${id}.json`);
      if (known !== undefined) return known;
      const stored = { path, allowedAt: Date.now() };
      await writeFileAtomically(join(folder, `${id}.json`), `${JSON.stringify(stored)}\n`);
      return { id, ...stored };
    },
    async remove(id) {
      try {
        await unlink(join(folder, `${id}.json`));
        return "removed";
      } catch (error) {
        if (error instanceof Error && "code" in error && error.code === "ENOENT")
          return "not_found";
        throw error;
      }
    },
  };
}

function idOf(path: string): string {
  return createHash("sha256").update(path).digest("hex").slice(0, 16);
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

/** Whether a folder, given without links, is the person's home or contains it: then everything of theirs is in it. */
export async function containsPersonFolder(path: string, person = homedir()): Promise<boolean> {
  const real = await realpath(person).catch(() => person);
  return belowRoot(path, real) !== null || belowRoot(path, person) !== null;
}
