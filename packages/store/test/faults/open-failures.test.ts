import { execFile } from "node:child_process";
import {
  chmodSync,
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  statSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, test } from "vitest";

import { openTestSession } from "@holdfast/testing/fixtures/open-session";
import { connect } from "../../src/sqlite/connection.ts";
import { openFailureOf } from "../../src/sqlite/errors.ts";
import { checkFileSystem, networkFileSystemOf } from "../../src/sqlite/database-file.ts";
import { openSqliteStore } from "../../src/sqlite/store.ts";
import { migrate, whySqliteVersionRefused } from "../../src/sqlite/migrate.ts";
import { makeTemplate } from "./database-dump.ts";

const folder = mkdtempSync(join(tmpdir(), "holdfast-open-"));
const good = join(folder, "good.db");
const at = (name: string): string => join(folder, name);
beforeAll(async () => {
  await checkFileSystem(good);
  await makeTemplate(good);
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** The first thing that the writer thread does. */
async function openError(file: string): Promise<unknown> {
  try {
    const connection = connect({ file, access: "write" });
    try {
      await migrate(connection);
    } finally {
      connection.close();
    }
    return "opened";
  } catch (error) {
    return openFailureOf(error);
  }
}

const contentOf = (file: string): string =>
  statSync(file).isFile() ? readFileSync(file).toString("base64") : "";

describe("a file that can't be a store is refused with a message and left unchanged", () => {
  const cases: { name: string; code: string; make: (file: string) => void }[] = [
    {
      name: "garbage",
      code: "not_a_store",
      make: (file) => writeFileSync(file, "This is a letter, and a rather long one. ".repeat(500)),
    },
    {
      name: "another program's database",
      code: "not_a_store",
      make(file) {
        const database = new DatabaseSync(file);
        database.exec("CREATE TABLE recipes (name TEXT); INSERT INTO recipes VALUES ('soup')");
        database.close();
      },
    },
    {
      name: "a newer schema",
      code: "schema_too_new",
      make(file) {
        copyFileSync(good, file);
        const database = new DatabaseSync(file);
        database.exec("PRAGMA user_version = 1000");
        database.close();
      },
    },
    {
      name: "the first half of a store",
      code: "store_unavailable",
      make(file) {
        copyFileSync(good, file);
        truncateSync(file, 16_384);
      },
    },
    { name: "a folder", code: "store_unavailable", make: (file) => mkdirSync(file) },
  ];

  test.each(cases)("$name", async ({ name, code, make }) => {
    const file = at(`${name}.db`);
    make(file);
    const before = contentOf(file);
    const error = await openError(file);
    expect(error).toMatchObject({ name: "OpenFailure", code });
    expect(String(error)).toMatch(/\.( \(.+\))?$/);
    expect(contentOf(file)).toBe(before);
  });

  test("the store reports the same failure", async () => {
    const file = at("letter.db");
    writeFileSync(file, "This is a letter, and a rather long one. ".repeat(500));
    await expect(openSqliteStore({ file })).rejects.toMatchObject({ code: "not_a_store" });
    const below = openSqliteStore({ file: join(good, "below", "store.db") });
    await expect(below).rejects.toMatchObject({ code: "store_unavailable" });
  });

  test("files and folders without write or read permission are refused", async () => {
    const [shut, closed, readOnly] = [at("shut"), at("closed.db"), at("read-only.db")];
    mkdirSync(shut);
    copyFileSync(good, closed);
    copyFileSync(good, readOnly);
    chmodSync(shut, 0o555);
    chmodSync(closed, 0o000);
    chmodSync(readOnly, 0o444);
    chmodSync(folder, 0o755);
    // Root may do everything, so switch to nobody.
    const uid = process.getuid?.() === 0 ? { uid: 65_534, gid: 65_534 } : {};
    const script = fileURLToPath(new URL("./open-and-report.ts", import.meta.url));
    const files = [join(shut, "store.db"), closed, readOnly];
    const { stdout } = await promisify(execFile)(process.execPath, [script, ...files], uid);
    const output = stdout.trim().split("\n");
    expect(output).toHaveLength(3);
    for (const line of output) expect(line).toMatch(/^store_unavailable /);
  });
});

test("versions of SQLite that lose committed data are refused, and others are accepted", () => {
  for (const version of ["3.7.0", "3.46.1", "3.51.2", "3.52.0"])
    expect(whySqliteVersionRefused(version), `SQLite ${version}`).toContain(version);
  for (const version of ["3.51.3", "3.51.10", "3.52.1", "3.53.0", "4.0.0"])
    expect(whySqliteVersionRefused(version), `SQLite ${version}`).toBeUndefined();
});

test("network disks are refused by the magic number of their file system, even a negative one", () => {
  const disks = [0x6969, 0x517b, 0xff534d42, 0xfe534d42, 0x01021997];
  for (const type of disks) {
    expect(networkFileSystemOf(type)).toBeDefined();
    expect(networkFileSystemOf(type | 0)).toBe(networkFileSystemOf(type));
  }
  for (const local of [0xef53, 0x9123683e, 0x58465342, 0x01021994, 0x794c7630])
    expect(networkFileSystemOf(local)).toBeUndefined();
});

test("a new file and its companions are private, even in a shared folder", async () => {
  const opened = mkdtempSync(join(tmpdir(), "holdfast-open-"));
  chmodSync(opened, 0o755);
  const file = join(opened, "store.db");
  const store = await openSqliteStore({ file });
  const { owner } = await openTestSession(store);
  await store.search.search(owner, { text: "hello", limit: 1 });
  const modes = readdirSync(opened)
    .filter((name) => name.startsWith("store.db"))
    .map((name) => statSync(join(opened, name)).mode & 0o077);
  await store.close();
  rmSync(opened, { recursive: true });
  expect(modes.length).toBeGreaterThan(3);
  expect(new Set(modes)).toEqual(new Set([0]));
});
