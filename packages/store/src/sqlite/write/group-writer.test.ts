import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import {
  aDelta,
  aHolder,
  aNotice,
  aSession,
  aSettledMessage,
} from "@holdfast/testing/fixtures/factories";
import { openTestSession } from "@holdfast/testing/fixtures/open-session";
import { beforeEach, expect, onTestFinished, test } from "vitest";

import { connect, type Connection, type Probe } from "../connection.ts";
import { openSqliteStore } from "../store.ts";
import { GroupWriter } from "./group-writer.ts";

let file: string;
let observer: Connection;
let chat: ReturnType<typeof aSession>;

/** A file with one session, whose events table refuses some texts in the middle of a commit. */
beforeEach(async () => {
  const folder = mkdtempSync(join(tmpdir(), "holdfast-writer-"));
  file = join(folder, "store.db");
  const store = await openSqliteStore({ file });
  chat = aSession();
  await store.commit(chat);
  await store.close();
  observer = connect({ file, access: "write" });
  observer.exec(`
    CREATE TRIGGER refuse BEFORE INSERT ON events WHEN NEW.data LIKE '%refused%'
    BEGIN SELECT RAISE(FAIL, 'not this one'); END`);
  onTestFinished(() => {
    observer.close();
    rmSync(folder, { recursive: true, force: true });
  });
});

function openWriter(probe?: Probe): GroupWriter {
  const open = () => connect({ file, access: "write", ...(probe && { probe }) });
  const writer = new GroupWriter({ open, busyMs: 1_000, checkpointPages: 1_000 });
  onTestFinished(() => writer.close());
  return writer;
}

const write = (...texts: string[]) => {
  const { owner, session } = chat;
  const events = texts.map((text) => aNotice(text));
  return { name: "commit", request: { owner, session, events } } as const;
};

const storedTexts = () =>
  observer
    .sql("SELECT seq, data FROM events ORDER BY seq")
    .all()
    .map((row) => [Number(row["seq"]), /one|two|three|four/.exec(String(row["data"]))?.[0]]);

test("[P1] a write that fails halfway leaves nothing in the transaction of its neighbours", () => {
  const outcomes = openWriter().run(
    [write("one"), write("two", "refused"), write("three")],
    Date.now,
  );
  expect(outcomes).toMatchObject([
    { status: "committed", first: 2 },
    { status: "failed" },
    { status: "committed", first: 3 },
  ]);
  expect(storedTexts()).toEqual([
    [1, undefined],
    [2, "one"],
    [3, "three"],
  ]);
});

test("[P2] a write that is rolled back leaves no trace for the next one", () => {
  let releases = 0;
  const writer = openWriter((sql) => {
    if (sql === "RELEASE one_write" && ++releases === 2) throw new Error("not released");
  });
  const outcomes = writer.run([write("refused"), write("two"), write("three")], Date.now);
  expect(outcomes).toMatchObject([
    { status: "failed" },
    { status: "failed" },
    { status: "committed", first: 2 },
  ]);
  expect(storedTexts()).toEqual([
    [1, undefined],
    [2, "three"],
  ]);
});

/** A writer, and for each of its commits the level of `PRAGMA synchronous` that it was made with: 2 syncs the log. */
function openSyncObserver(fail?: (sql: string) => boolean) {
  const levels: unknown[] = [];
  const writer = openWriter((sql, database) => {
    if (fail?.(sql)) throw new Error("refused");
    if (sql === "COMMIT")
      levels.push(database.prepare("PRAGMA synchronous").get()?.["synchronous"]);
  });
  const acquire = () => {
    const request = {
      kind: "run",
      session: chat.session,
      holder: aHolder(),
      ttlMs: 1_000,
    } as const;
    const [outcome] = writer.run([{ name: "acquire", request }], Date.now);
    if (outcome?.status !== "acquired") throw new Error("The lease was not acquired.");
    return outcome.lease;
  };
  return { writer, levels, acquire };
}

test("[P1] a release or a renewal by itself waits for no sync; every other commit does", () => {
  const { writer, levels, acquire } = openSyncObserver();
  const lease = acquire();
  const renewal = { name: "renew", request: { leases: [lease], ttlMs: 2_000 } } as const;
  const release = { name: "release", request: lease } as const;
  writer.run([renewal], Date.now);
  writer.run([write("one")], Date.now);
  expect(writer.run([release], Date.now)).toEqual([{ status: "released" }]);
  writer.run([write("two")], Date.now);
  writer.run([release, write("three")], Date.now);
  expect(levels).toEqual([2, 1, 2, 1, 2, 2]);
});

test("[P1] the commit after a release is synced even if the setting can't be restored", () => {
  let restored = 0;
  const { writer, levels, acquire } = openSyncObserver(
    (sql) => sql === "PRAGMA synchronous = FULL" && restored++ === 0,
  );
  writer.run([{ name: "release", request: acquire() }], Date.now);
  expect(restored).toBe(1);
  expect(writer.run([write("one")], Date.now)).toMatchObject([{ status: "committed" }]);
  expect(levels).toEqual([2, 1, 2]);
});

test("pruning in parts smaller than an answer removes all of its deltas", async () => {
  const store = await openSqliteStore({ file });
  onTestFinished(() => store.close());
  const streamed = await openTestSession(store);
  const { runId, under } = await streamed.startRun();
  for (let commits = 0; commits < 4; commits += 1)
    await streamed.commit([aDelta(runId, "a"), aDelta(runId, "b")], { under });
  const { head } = await streamed.row();
  const settled = aSettledMessage(runId, "abababab", [[head - 7, head]]);
  await streamed.commit([settled], { under });
  const parts: number[] = [];
  for (let rows = 1; rows > 0;) {
    const pruned = await store.prune(3);
    rows = pruned.status === "pruned" ? pruned.rows : 0;
    parts.push(rows);
  }
  expect(parts).toEqual([3, 3, 2, 0]);
  expect(observer.sql("SELECT count(*) AS count FROM deltas").get()).toEqual({ count: 0 });
});
