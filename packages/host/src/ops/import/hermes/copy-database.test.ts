import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { expect, onTestFinished, test } from "vitest";

import { copyDatabase } from "./copy-database.ts";

/** Moves ones between rows far apart, as fast as it can; what is in the write-ahead log is in the file soon after. */
const writer = `
  const { DatabaseSync } = require("node:sqlite");
  const database = new DatabaseSync(process.argv[1]);
  database.exec("PRAGMA journal_mode = WAL; PRAGMA synchronous = OFF; PRAGMA wal_autocheckpoint = 20");
  database.exec("BEGIN; CREATE TABLE t (n INTEGER, filling TEXT)");
  const insert = database.prepare("INSERT INTO t VALUES (0, ?)");
  for (let row = 0; row < 1000; row += 1) insert.run("x".repeat(4000));
  database.exec("COMMIT");
  const move = database.prepare("UPDATE t SET n = n + iif(rowid = ?1, 1, -1) WHERE rowid IN (?1, 1001 - ?1)");
  let turn = 0;
  const write = () => {
    for (let end = turn + 50; turn < end; turn += 1) move.run(1 + ((turn * 7) % 500));
    if (process.connected) setImmediate(write);
  };
  process.send("ready");
  write();
`;

test("a database that another program writes to meanwhile is copied as it was at one instant", async () => {
  const folder = mkdtempSync(join(tmpdir(), "holdfast-copy-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const file = join(folder, "state.db");
  const child = spawn(process.execPath, ["-e", writer, file], {
    stdio: ["ignore", "ignore", "inherit", "ipc"],
  });
  onTestFinished(() => void child.kill("SIGKILL"));
  await once(child, "message");
  for (let number = 0; number < 2; number += 1) {
    const to = join(folder, `copy-${number}`);
    await copyDatabase(file, to);
    const copy = new DatabaseSync(to);
    const [check] = copy.prepare("PRAGMA integrity_check").all();
    const found = copy.prepare("SELECT count(*) AS rows, sum(n) AS sum FROM t").get();
    copy.close();
    expect({ ...check, ...found }).toEqual({ integrity_check: "ok", rows: 1000, sum: 0 });
  }
  expect(readdirSync(folder).filter((name) => name.includes(".files"))).toEqual([]);
});
