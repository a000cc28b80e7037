import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, expect, test } from "vitest";

import { type Connection, connect } from "../../src/sqlite/connection.ts";
import { migrate } from "../../src/sqlite/migrate.ts";

const folder = mkdtempSync(join(tmpdir(), "holdfast-migrations-"));
const at = (name: string): string => join(folder, name);
const dieMigrating = fileURLToPath(new URL("./kill-while-migrating.ts", import.meta.url));
const migrateWhenTold = fileURLToPath(new URL("./migrate-on-signal.ts", import.meta.url));
let complete: string;
beforeAll(async () => {
  complete = await migrated("complete");
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** A file with the first migrations, and a row that must survive the others. */
async function makeOld(name: string): Promise<void> {
  const connection = connect({ file: at(`${name}.db`), access: "write" });
  await migrate(connection, 1);
  connection.exec("INSERT INTO purges VALUES ('a', 1, 'person', 1, 1)");
  connection.close();
}

function schemaOf(connection: Connection): string {
  const tables = connection.sql("SELECT name, sql FROM sqlite_schema ORDER BY name").all();
  const version = connection.sql("PRAGMA user_version").get();
  const owner = connection.sql("PRAGMA application_id").get();
  return JSON.stringify([tables, version, owner], null, 1);
}

/** Opens the file as every start does, and returns its schema. */
async function migrated(name: string, rows = 0): Promise<string> {
  const connection = connect({ file: at(`${name}.db`), access: "write" });
  try {
    await migrate(connection);
    expect(connection.sql("SELECT count(*) AS n FROM purges").get()).toEqual({ n: rows });
    return schemaOf(connection);
  } finally {
    connection.close();
  }
}

test("processes that start at the same moment on a new file and an old one all open them and migrate once", async () => {
  await makeOld("old");
  const files = [at("new.db"), at("old.db")];
  const children = Array.from({ length: 4 }, () =>
    spawn(process.execPath, [migrateWhenTold, ...files], {
      stdio: ["pipe", "pipe", "inherit"],
    }),
  );
  const ends = children.map((child) => once(child, "close"));
  await Promise.all(children.map((child) => once(child.stdout, "data")));
  for (const child of children) child.stdin.end();
  expect(await Promise.all(ends)).toEqual(children.map(() => [0, null]));
  expect(await migrated("new")).toBe(complete);
  expect(await migrated("old", 1)).toBe(complete);
}, 120_000);

test.each(["fresh", "older"])(
  "[P1] kill -9 before any statement of a migration (%s) leaves a file that opens, and nothing half migrated",
  async (from) => {
    if (from === "older") await makeOld(from);
    const child = spawn(process.execPath, [dieMigrating, folder, from], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    let output = "";
    child.stdout.setEncoding("utf8").on("data", (text: string) => (output += text));
    await once(child, "close");
    expect(child.signalCode).toBe("SIGKILL");
    const statements = Number(output);
    expect(statements).toBeGreaterThan(5);
    for (let nth = 1; nth <= statements; nth += 1) {
      const found = await migrated(`${from}-${nth}`, from === "older" ? 1 : 0);
      expect(found, `held before statement ${nth}`).toBe(complete);
    }
  },
  60_000,
);
