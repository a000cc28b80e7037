import { readFileSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import type { Store } from "@holdfast/engine";
import { z } from "zod";
import { systemCode } from "../../util/outcome.ts";
import { type EncryptedRows, openEncryptedRows } from "./encrypted-rows.ts";
import { openKeyring, type SecretsKeySettings } from "./secrets-key.ts";

/** A key and the only address it is sent to. */
export interface StoredKey {
  readonly key: string;
  readonly baseUrl: string;
}

/** Keys that people have stored, encrypted in the store and never shown. */
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

const storedKey = z.object({ key: z.string().min(1), baseUrl: z.string().min(1) });
const keyPrefix = "key/";
export const passwordRow = "password";

export interface OpenedSecrets {
  readonly secrets: Secrets;
  /** What else is encrypted, like the password's hash. */
  readonly rows: EncryptedRows;
}

/** Opens the stored keys, and moves what earlier versions kept in files. */
export async function openSecrets(
  settings: SecretsKeySettings,
  store: Pick<Store, "register">,
  report: (error: Error) => void,
): Promise<OpenedSecrets> {
  const rows = await openEncryptedRows(store, openKeyring(settings));
  const reason = rows.locked();
  if (reason !== null) report(reason);
  const unmoved = await moveFiles(settings.home.value, rows, report);
  const read = (row: string): StoredKey | null => {
    const text = rows.read(row) ?? unmoved.get(row) ?? null;
    return text === null ? null : (storedKey.safeParse(parseOrNull(text)).data ?? null);
  };
  const names = (): readonly string[] =>
    [...new Set([...rows.names(), ...unmoved.keys()])].flatMap((row) =>
      row.startsWith(keyPrefix) ? [row.slice(keyPrefix.length)] : [],
    );
  return {
    rows: { ...rows, read: (row) => rows.read(row) ?? unmoved.get(row) ?? null },
    secrets: {
      read: (name) => read(keyPrefix + name),
      put: (name, { key, baseUrl }) => rows.put(keyPrefix + name, JSON.stringify({ key, baseUrl })),
      remove: (name) => rows.remove(keyPrefix + name),
      names: (prefix) => names().filter((name) => name.startsWith(prefix)),
      keys: () => names().flatMap((name) => read(keyPrefix + name)?.key ?? []),
    },
  };
}

const secretsFile = z.object({ version: z.literal(1), keys: z.record(z.string(), storedKey) });

/**
 * Encrypts the keys and the password's hash that earlier versions kept in files, and removes the files when everything
 * can be read back from the store. A crash before that repeats the move; rows that are there are left alone. Returns what
 * this host cannot encrypt, because it has not got the key of the store's secrets.
 */
async function moveFiles(
  home: string,
  rows: EncryptedRows,
  report: (error: Error) => void,
): Promise<ReadonlyMap<string, string>> {
  const unmoved = new Map<string, string>();
  for (const { path, entries } of readFiles(home, report)) {
    if (rows.locked() !== null) {
      for (const [row, text] of entries) unmoved.set(row, text);
      continue;
    }
    for (const [row, text] of entries) if (!rows.exists(row)) await rows.put(row, text);
    await rows.reload();
    const different = [...entries].filter(([row, text]) => rows.read(row) !== text);
    if (different.length === 0) {
      rmSync(path, { force: true });
      continue;
    }
    renameSync(path, `${path}.not-moved`);
    const names = different.map(([row]) => row).join(", ");
    report(
      new Error(
        `The store has other values than ${path} (${names}), and the host uses those in the store. The file's values are in ${path}.not-moved: compare them, then delete it.`,
      ),
    );
  }
  return unmoved;
}

interface OldFile {
  readonly path: string;
  readonly entries: ReadonlyMap<string, string>;
}

function readFiles(home: string, report: (error: Error) => void): readonly OldFile[] {
  const files: OldFile[] = [];
  const secretsPath = join(home, "secrets.json");
  const secretsText = readOrNull(secretsPath);
  const parsed = secretsFile.safeParse(parseOrNull(secretsText ?? ""));
  if (parsed.success) {
    const entries = Object.entries(parsed.data.keys).map(
      ([name, stored]) => [keyPrefix + name, JSON.stringify(stored)] as const,
    );
    files.push({ path: secretsPath, entries: new Map(entries) });
  } else if (secretsText !== null)
    report(
      new Error(
        `The file of stored keys ${secretsPath} is damaged: store the keys again, and delete it.`,
      ),
    );
  const passwordPath = join(home, "password");
  const hash = readOrNull(passwordPath)?.trim();
  if (hash !== undefined && hash !== "")
    files.push({ path: passwordPath, entries: new Map([[passwordRow, hash]]) });
  return files;
}

function readOrNull(path: string): string | null {
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    if (systemCode(error) === "ENOENT") return null;
    throw error;
  }
}

function parseOrNull(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
