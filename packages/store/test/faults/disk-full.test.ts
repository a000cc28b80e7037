import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, renameSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setEnvironmentData } from "node:worker_threads";

import { type Failed, runFsck } from "@holdfast/engine";
import { aNotice } from "@holdfast/testing/fixtures/factories";
import { type TestSession, openTestSession, seqsOf } from "@holdfast/testing/fixtures/open-session";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";

import { connect } from "../../src/sqlite/connection.ts";
import { openSqliteStore, type SqliteStore } from "../../src/sqlite/store.ts";
import { migrate } from "../../src/sqlite/migrate.ts";
import { GroupWriter } from "../../src/sqlite/write/group-writer.ts";

const folder = mkdtempSync(join(tmpdir(), "holdfast-disk-"));
const file = join(folder, "store.db");
const limit = new Int32Array(new SharedArrayBuffer(4));
const failures: string[] = [];
let store: SqliteStore;
let chat: TestSession;
beforeAll(async () => {
  setEnvironmentData("holdfast.limit-probe", limit.buffer);
  const probeModule = new URL("./page-limit-probe.ts", import.meta.url).href;
  const onWriteFailed = ({ code }: Failed): void => void failures.push(code);
  store = await openSqliteStore({ file, probeModule, busyMs: 250, onWriteFailed });
});
beforeEach(async () => {
  failures.length = 0;
  chat = await openTestSession(store);
});
afterAll(async () => {
  await store.close();
  rmSync(folder, { recursive: true, force: true });
});

const longText = "x".repeat(200_000);

async function isSound(): Promise<void> {
  const { found, failure } = await runFsck(store.audit, { now: await store.now() });
  expect([...found, failure]).toEqual([undefined]);
  const { head } = await chat.row();
  expect(seqsOf(await chat.events())).toEqual(Array.from({ length: head }, (_, at) => at + 1));
}

test("on a full disk, writes that don't fit fail with store_full, smaller ones succeed, and all succeed once there is room", async () => {
  await chat.commit([aNotice("before")]);
  Atomics.store(limit, 0, 1);
  const large = [aNotice(longText)];
  const results = await Promise.all([
    chat.send([aNotice("a")]),
    chat.send(large),
    chat.send([aNotice("b")]),
  ]);
  expect(results).toMatchObject([
    { status: "committed", first: 3 },
    { status: "failed", code: "store_full" },
    { status: "committed", first: 4 },
  ]);
  expect(await store.putBlob(chat.owner, Buffer.alloc(100_000), "text/plain")).toMatchObject({
    code: "store_full",
  });
  expect(failures).toEqual(["store_full", "store_full"]);
  expect(await chat.row()).toMatchObject({ head: 4 });
  Atomics.store(limit, 0, 0);
  expect(await chat.commit(large)).toMatchObject({ first: 5 });
  expect(await chat.commit(large)).toMatchObject({ first: 5, repeated: true });
  await isSound();
});

/** Another process that holds the lock until it is told to release it. */
async function holdLock(): Promise<() => Promise<void>> {
  const script = `
    const database = new (require("node:sqlite").DatabaseSync)(process.argv[1]);
    database.exec("BEGIN IMMEDIATE");
    console.log("held");
    process.stdin.on("end", () => process.exit()).resume();`;
  const child = spawn(process.execPath, ["-e", script, file], {
    stdio: ["pipe", "pipe", "inherit"],
  });
  const closed = once(child, "close");
  await once(child.stdout, "data");
  return async () => {
    child.stdin.end();
    await closed;
  };
}

test("a lock that another process holds for too long gives store_busy, reads go on, and writes resume afterwards", async () => {
  const release = await holdLock();
  try {
    const events = [aNotice()];
    const [first, second] = await Promise.all([chat.send(events), chat.send([aNotice()])]);
    expect([first, second]).toMatchObject([{ code: "store_busy" }, { code: "store_busy" }]);
    expect(await chat.row()).toMatchObject({ head: 1 });
    await release();
    expect(await chat.commit(events)).toMatchObject({ first: 2 });
    await isSound();
  } finally {
    await release();
  }
});

test("a file that was read-only when opened accepts writes as soon as it becomes writable", async () => {
  const own = join(folder, "read-only.db");
  const access = { mode: 0o600 };
  const made = connect({ file: own, access: "write" });
  await migrate(made);
  made.close();
  const writer = new GroupWriter({
    // Like SQLite with a read-only file: it fails at the first write, not before.
    open: () => {
      const connection = connect({ file: own, access: "write" });
      if (access.mode === 0o400) connection.exec("PRAGMA query_only = ON");
      return connection;
    },
    busyMs: 250,
    checkpointPages: 1_000,
  });
  const put = {
    name: "putRegister",
    request: { owner: chat.owner, key: "k", value: "{}", expect: 0 },
  } as const;
  access.mode = 0o400;
  expect(writer.run([put], Date.now)).toMatchObject([{ code: "store_unwritable" }]);
  access.mode = 0o600;
  expect(writer.run([put], Date.now)).toMatchObject([{ status: "put" }]);
  writer.close();
});

test("[P1] a file that is deleted or replaced underneath accepts no write until it is back in its place", async () => {
  const events = [aNotice()];
  const refused = { code: "store_unavailable" };
  renameSync(file, `${file}.away`);
  expect(await chat.send(events)).toMatchObject(refused);
  expect(existsSync(file)).toBe(false);

  const otherFile = await openSqliteStore({ file: join(folder, "other.db") });
  await otherFile.close();
  renameSync(join(folder, "other.db"), file);
  expect(await chat.send(events)).toMatchObject(refused);

  renameSync(`${file}.away`, file);
  expect(await chat.commit(events)).toMatchObject({ first: 2 });
  await isSound();
});

test("[P1] a write-ahead log that is deleted underneath accepts no write until it is back in its place", async () => {
  renameSync(`${file}-wal`, `${file}-gone`);
  expect(await chat.send([aNotice()])).toMatchObject({ code: "store_unavailable" });
  renameSync(`${file}-gone`, `${file}-wal`);
  expect(await chat.commit([aNotice()])).toMatchObject({ first: 2 });
  await isSound();
});
