import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, renameSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setEnvironmentData } from "node:worker_threads";

import { runFsck } from "@holdfast/engine";
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
let store: SqliteStore;
let chat: TestSession;
beforeAll(async () => {
  setEnvironmentData("holdfast.limit-probe", limit.buffer);
  const probeModule = new URL("./page-limit-probe.ts", import.meta.url).href;
  store = await openSqliteStore({ file, probeModule, busyMs: 250 });
});
beforeEach(async () => {
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

test("a full disk: what does not fit is answered store_full, what fits is written, and later everything goes on", async () => {
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
  expect(await chat.row()).toMatchObject({ head: 4 });
  Atomics.store(limit, 0, 0);
  expect(await chat.commit(large)).toMatchObject({ first: 5 });
  expect(await chat.commit(large)).toMatchObject({ first: 5, repeated: true });
  await isSound();
});

/** Another process that holds the lock until it is told to let go. */
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

test("a lock that another process holds for too long is store_busy, reads go on, and then writes do", async () => {
  const letGo = await holdLock();
  try {
    const events = [aNotice()];
    const [first, second] = await Promise.all([chat.send(events), chat.send([aNotice()])]);
    expect([first, second]).toMatchObject([{ code: "store_busy" }, { code: "store_busy" }]);
    expect(await chat.row()).toMatchObject({ head: 1 });
    await letGo();
    expect(await chat.commit(events)).toMatchObject({ first: 2 });
    await isSound();
  } finally {
    await letGo();
  }
});

test("a file that can only be read while it is opened takes writes again as soon as it may", async () => {
  const own = join(folder, "read-only.db");
  const access = { mode: 0o600 };
  const made = connect({ file: own, access: "write" });
  await migrate(made);
  made.close();
  const writer = new GroupWriter({
    // As SQLite opens a file of which it may only read: it says so at the first write, and not before.
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

test("[P1] a file that is deleted or replaced underneath takes no write, and back in its place it goes on", async () => {
  const events = [aNotice()];
  const refused = { code: "store_unavailable" };
  renameSync(file, `${file}.away`);
  expect(await chat.send(events)).toMatchObject(refused);
  expect(existsSync(file)).toBe(false);

  const stranger = await openSqliteStore({ file: join(folder, "other.db") });
  await stranger.close();
  renameSync(join(folder, "other.db"), file);
  expect(await chat.send(events)).toMatchObject(refused);

  renameSync(`${file}.away`, file);
  expect(await chat.commit(events)).toMatchObject({ first: 2 });
  await isSound();
});

test("[P1] a write-ahead log that is deleted underneath takes no write, and back in its place it goes on", async () => {
  renameSync(`${file}-wal`, `${file}-gone`);
  expect(await chat.send([aNotice()])).toMatchObject({ code: "store_unavailable" });
  renameSync(`${file}-gone`, `${file}-wal`);
  expect(await chat.commit([aNotice()])).toMatchObject({ first: 2 });
  await isSound();
});
