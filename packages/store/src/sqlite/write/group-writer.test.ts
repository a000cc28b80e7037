import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { aDelta, aNotice, aSession, aSettledMessage } from "@holdfast/testing/fixtures/factories";
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
