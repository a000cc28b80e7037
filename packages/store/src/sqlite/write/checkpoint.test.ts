import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { aNotice } from "@holdfast/testing/fixtures/factories";
import { openTestSession } from "@holdfast/testing/fixtures/open-session";
import { expect, onTestFinished, test } from "vitest";

import { connect, type Connection, type Probe } from "../connection.ts";
import { openSqliteStore } from "../store.ts";
import { checkpointWholly, readLogState } from "./checkpoint.ts";

test("a write-ahead log that is far from full is checkpointed once writes pause", async () => {
  const folder = mkdtempSync(join(tmpdir(), "holdfast-checkpoint-"));
  const file = join(folder, "store.db");
  const store = await openSqliteStore({ file, checkpointPages: 200 });
  const observer = connect({ file, access: "write" });
  onTestFinished(async () => {
    observer.close();
    await store.close();
    rmSync(folder, { recursive: true, force: true });
  });
  // Creating the file doesn't count: the log starts over here.
  observer.sql("PRAGMA wal_checkpoint(TRUNCATE)").get();
  const chat = await openTestSession(store);
  // All at once, so that there is no pause between them.
  await Promise.all(
    Array.from({ length: 3 }, () => chat.commit([aNotice("x".repeat(100 * 1024))])),
  );
  const { pages } = readLogState(observer);
  expect(pages).toBeGreaterThan(200 / 5);
  expect(pages).toBeLessThan(200);
  await expect.poll(() => readLogState(observer)).toEqual({ pages, checkpointed: pages });
});

/** Two connections to one file, as two processes have them, and a log of ten pages and more. */
function openTwo(probe: Probe): { writer: Connection; other: Connection } {
  const folder = mkdtempSync(join(tmpdir(), "holdfast-checkpoint-"));
  const file = join(folder, "shared.db");
  const other = connect({ file, access: "write" });
  other.exec("PRAGMA journal_mode = WAL; CREATE TABLE t (text TEXT)");
  const writer = connect({ file, access: "write", probe });
  onTestFinished(() => {
    writer.close();
    other.close();
    rmSync(folder, { recursive: true, force: true });
  });
  for (let rows = 0; rows < 10; rows += 1) insert(other);
  return { writer, other };
}

const insert = (connection: Connection) => connection.sql("INSERT INTO t VALUES ('x')").run();
const countRows = (connection: Connection) =>
  Number(connection.sql("SELECT count(*) AS count FROM t").get()?.["count"]);

/** A probe for the first checkpoint: calls these before its passive part, and behind it. */
function aroundPassivePart(before: () => void, behind: () => void): Probe {
  const steps = [before, behind];
  return (sql) => {
    if (steps.length === 1 || sql.includes("PASSIVE")) steps.shift()?.();
  };
}

test("a log that another process writes to during its checkpoint starts over", () => {
  const { writer, other } = openTwo(
    aroundPassivePart(
      () => other.exec("BEGIN IMMEDIATE; INSERT INTO t VALUES ('x')"),
      () => other.exec("COMMIT"),
    ),
  );
  checkpointWholly(writer);
  const { pages, checkpointed } = readLogState(other);
  expect(pages).toBeGreaterThan(10);
  expect(checkpointed).toBe(pages);
  insert(other);
  expect(readLogState(other)).toEqual({ pages: 1, checkpointed: 0 });
  expect(countRows(writer)).toBe(12);
  expect(writer.sql("PRAGMA busy_timeout").get()).toEqual({ timeout: 0 });
});

test("a checkpoint goes on without a lock that another process keeps, and the next one completes it", () => {
  const { writer, other } = openTwo(
    aroundPassivePart(
      () => other.exec("BEGIN IMMEDIATE; INSERT INTO t VALUES ('x')"),
      () => other.exec("COMMIT; BEGIN IMMEDIATE; INSERT INTO t VALUES ('x')"),
    ),
  );
  checkpointWholly(writer);
  other.exec("COMMIT");
  const unfinished = readLogState(other);
  expect(unfinished.checkpointed).toBeLessThan(unfinished.pages);
  checkpointWholly(writer);
  const { pages, checkpointed } = readLogState(other);
  expect(checkpointed).toBe(pages);
  expect(countRows(writer)).toBe(12);
});

test("a checkpoint doesn't take the write lock while somebody reads an older state", () => {
  const statements: string[] = [];
  const { writer, other } = openTwo((sql) => statements.push(sql));
  other.exec("BEGIN");
  expect(countRows(other)).toBe(10);
  insert(writer);
  checkpointWholly(writer);
  expect(statements.at(-1)).toBe("PRAGMA wal_checkpoint(PASSIVE)");
  expect(countRows(other)).toBe(10);
  other.exec("COMMIT");
  expect(countRows(other)).toBe(11);
});
