import { chmodSync, readFileSync, statSync } from "node:fs";
import { open, rename, rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import { z } from "zod";

import { systemCode } from "../../util/outcome.ts";
import { serialQueue } from "../../util/serial-queue.ts";

/** A key and the only address it is sent to. */
export interface StoredKey {
  readonly key: string;
  readonly baseUrl: string;
}

/** Keys that people have stored, outside the store, readable by the home's owner only and never shown. */
export interface Secrets {
  read(name: string): StoredKey | null;
  put(name: string, stored: StoredKey): Promise<void>;
  /** Returns whether there was one. */
  remove(name: string): Promise<boolean>;
  /** The names with this prefix. */
  names(prefix: string): readonly string[];
  /** For redaction. */
  keys(): readonly string[];
}

const secretsFile = z.object({
  version: z.literal(1),
  keys: z.record(z.string(), z.object({ key: z.string().min(1), baseUrl: z.string().min(1) })),
});
type Keys = z.infer<typeof secretsFile>["keys"];

/** Several processes share the file, so each checks whether it has changed before using its cache. */
export function openSecrets(home: string, report: (error: Error) => void): Secrets {
  const path = join(home, "secrets.json");
  let seen = "";
  let known: Keys = {};
  const serialize = serialQueue();

  function readFile(): Keys {
    const stat = statSync(path, { throwIfNoEntry: false });
    if (stat === undefined) {
      seen = "";
      return (known = {});
    }
    const { mtimeMs, size, ino, mode } = stat;
    const stamp = `${mtimeMs}:${size}:${ino}`;
    if (stamp === seen) return known;
    if ((mode & 0o077) !== 0) chmodSync(path, 0o600);
    known = decode(readFileSync(path, "utf8"));
    seen = stamp;
    return known;
  }

  function load(): Keys {
    try {
      return readFile();
    } catch (error) {
      if (systemCode(error) !== "ENOENT") report(unreadableError(path, error));
      known = {};
      seen = "";
      return known;
    }
  }

  /** Temporarily unreadable keys are not overwritten: only a damaged file is replaced. */
  function loadToChange(): Keys {
    try {
      return readFile();
    } catch (error) {
      if (systemCode(error) === "ENOENT" || isDamage(error)) return {};
      throw unreadableError(path, error);
    }
  }

  function change(edit: (keys: Keys) => Keys): Promise<void> {
    return serialize(async () => {
      const keys = edit(loadToChange());
      await replaceSecretsFile(path, `${JSON.stringify({ version: 1, keys }, null, 2)}\n`);
    });
  }

  return {
    read: (name) => load()[name] ?? null,
    put: (name, { key, baseUrl }) => change((keys) => ({ ...keys, [name]: { key, baseUrl } })),
    async remove(name) {
      const isThere = Object.hasOwn(loadToChange(), name);
      const others = ([other]: readonly [string, unknown]) => other !== name;
      if (isThere) await change((keys) => Object.fromEntries(Object.entries(keys).filter(others)));
      return isThere;
    },
    names: (prefix) => Object.keys(load()).filter((name) => name.startsWith(prefix)),
    keys: () => Object.values(load()).map(({ key }) => key),
  };
}

function decode(text: string): Keys {
  return secretsFile.parse(JSON.parse(text)).keys;
}

/** Contains nothing of the file, which may be a key. */
function unreadableError(path: string, error: unknown): Error {
  const message = `The stored keys in ${path} cannot be read`;
  if (isDamage(error)) return new Error(`${message} (damaged): store them again.`);
  return new Error(`${message} (${systemCode(error)}): see to the file, and try again.`);
}

function isDamage(error: unknown): boolean {
  return error instanceof SyntaxError || error instanceof z.ZodError;
}

/** Atomic, and never readable by others. */
async function replaceSecretsFile(path: string, text: string): Promise<void> {
  const draft = `${path}.${process.pid}.${Math.random().toString(36).slice(2)}`;
  try {
    const handle = await open(draft, "wx", 0o600);
    try {
      await handle.writeFile(text, "utf8");
      await handle.sync();
    } finally {
      await handle.close();
    }
    await rename(draft, path);
  } catch (error) {
    await rm(draft, { force: true });
    throw error;
  }
  const folder = await open(dirname(path), "r");
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
}
