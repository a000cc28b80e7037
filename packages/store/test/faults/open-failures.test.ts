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

/** What the writer's thread does first. */
async function whyNot(file: string): Promise<unknown> {
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

describe("a file that cannot be the store is refused in words, and left as it was", () => {
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
    const error = await whyNot(file);
    expect(error).toMatchObject({ name: "OpenFailure", code });
    expect(String(error)).toMatch(/\.( \(.+\))?$/);
    expect(contentOf(file)).toBe(before);
  });

  test("and the door says so", async () => {
    const file = at("letter.db");
    writeFileSync(file, "This is a letter, and a rather long one. ".repeat(500));
    await expect(openSqliteStore({ file })).rejects.toMatchObject({ code: "not_a_store" });
    const below = openSqliteStore({ file: join(good, "below", "store.db") });
    await expect(below).rejects.toMatchObject({ code: "store_unavailable" });
  });

  test("files and folders that this user may not write or read", async () => {
    const [shut, closed, readOnly] = [at("shut"), at("closed.db"), at("read-only.db")];
    mkdirSync(shut);
    copyFileSync(good, closed);
    copyFileSync(good, readOnly);
    chmodSync(shut, 0o555);
    chmodSync(closed, 0o000);
    chmodSync(readOnly, 0o444);
    chmodSync(folder, 0o755);
    // Root may everything; nobody may not.
    const uid = process.getuid?.() === 0 ? { uid: 65_534, gid: 65_534 } : {};
    const script = fileURLToPath(new URL("./open-and-report.ts", import.meta.url));
    const files = [join(shut, "store.db"), closed, readOnly];
    const { stdout } = await promisify(execFile)(process.execPath, [script, ...files], uid);
    const told = stdout.trim().split("\n");
    expect(told).toHaveLength(3);
    for (const line of told) expect(line).toMatch(/^store_unavailable /);
  });
});

test("versions of SQLite that lose committed data are refused, and those that do not are not", () => {
  for (const version of ["3.7.0", "3.46.1", "3.51.2", "3.52.0"])
    expect(whySqliteVersionRefused(version), `SQLite ${version}`).toContain(version);
  for (const version of ["3.51.3", "3.51.10", "3.52.1", "3.53.0", "4.0.0"])
    expect(whySqliteVersionRefused(version), `SQLite ${version}`).toBeUndefined();
});

test("network disks are refused by the number of their file system, also by a negative one", () => {
  const disks = [0x6969, 0x517b, 0xff534d42, 0xfe534d42, 0x01021997];
  for (const type of disks) {
    expect(networkFileSystemOf(type)).toBeDefined();
    expect(networkFileSystemOf(type | 0)).toBe(networkFileSystemOf(type));
  }
  for (const local of [0xef53, 0x9123683e, 0x58465342, 0x01021994, 0x794c7630])
    expect(networkFileSystemOf(local)).toBeUndefined();
});

test("a new file is its owner's alone, with all that lies beside it, also in an open folder", async () => {
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
