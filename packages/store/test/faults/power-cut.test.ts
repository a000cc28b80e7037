import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { setEnvironmentData } from "node:worker_threads";

import { aNotice } from "@holdfast/testing/fixtures/factories";
import { openTestSession } from "@holdfast/testing/fixtures/open-session";
import { afterAll, beforeAll, expect, test } from "vitest";

import { connect, type Connection } from "../../src/sqlite/connection.ts";
import { openSqliteStore } from "../../src/sqlite/store.ts";
import { GroupWriter } from "../../src/sqlite/write/group-writer.ts";
import { allSucceeded, makeTemplate, dumpDatabase, groupTime } from "./database-dump.ts";
import { representativeProgram } from "./write-program.ts";

const folder = mkdtempSync(join(tmpdir(), "holdfast-power-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** The write-ahead log's layout: https://sqlite.org/fileformat2.html#the_write_ahead_log */
const logHeaderBytes = 32;
const frameHeaderBytes = 24;
const pageSize = 4096;
const endOfFrame = (frame: number): number =>
  logHeaderBytes + frame * (frameHeaderBytes + pageSize);

interface Recording {
  readonly file: Buffer;
  readonly log: Buffer;
  /** The store's dump at each acknowledgement, and the number of log frames at that time. */
  readonly acknowledged: readonly { readonly frames: number; readonly dump: string }[];
  /** The file after a full checkpoint. */
  readonly checkpointed: Buffer;
}

let recording: Recording;

function framesIn(connection: Connection): number {
  return Number(connection.sql("PRAGMA wal_checkpoint(NOOP)").get()?.["log"]);
}

/** Runs two programs. The second one overwrites the first one's log, but leaves a part of it behind its own. */
beforeAll(async () => {
  const file = join(folder, "store.db");
  await makeTemplate(file);
  const connection = connect({ file, access: "write" });
  const writer = new GroupWriter({ open: () => connection, busyMs: 1_000, checkpointPages: 1e9 });
  for (const program of [representativeProgram(), representativeProgram()])
    for (const group of program) writer.run(group, () => groupTime(0));
  connection.sql("PRAGMA wal_checkpoint(PASSIVE)").get();

  const acknowledged = [{ frames: 0, dump: dumpDatabase(connection) }];
  for (const [index, group] of representativeProgram().entries()) {
    if (!allSucceeded(writer.run(group, () => groupTime(index)))) throw new Error("not written");
    acknowledged.push({ frames: framesIn(connection), dump: dumpDatabase(connection) });
  }
  const before = { file: readFileSync(file), log: readFileSync(`${file}-wal`) };
  connection.sql("PRAGMA wal_checkpoint(PASSIVE)").get();
  recording = { ...before, acknowledged, checkpointed: readFileSync(file) };
  writer.close();
});

/** What a store contains that starts with these two files. */
function recover(file: Buffer, log: Buffer): string {
  const path = join(folder, "cut.db");
  for (const suffix of ["-wal", "-shm"]) rmSync(path + suffix, { force: true });
  writeFileSync(path, file);
  writeFileSync(`${path}-wal`, log);
  const connection = connect({ file: path, access: "read" });
  try {
    const check = connection.sql("PRAGMA quick_check").get();
    expect(check).toEqual({ quick_check: "ok" });
    return dumpDatabase(connection);
  } finally {
    connection.close();
  }
}

/** What must be there when this many frames have reached the disk: each acknowledged commit up to them, whole. */
function expectedDump(frames: number): string {
  return recording.acknowledged.findLast((acknowledgement) => acknowledgement.frames <= frames)!
    .dump;
}

const insideFrame = [
  1,
  frameHeaderBytes - 1,
  frameHeaderBytes,
  frameHeaderBytes + 2048,
  frameHeaderBytes + pageSize - 1,
];

test("the recording is useful: each acknowledgement has its own frames, and older ones follow the last", () => {
  const frames = recording.acknowledged.map((acknowledgement) => acknowledgement.frames);
  expect(new Set(frames).size).toBe(frames.length);
  expect(recording.log.length).toBeGreaterThan(endOfFrame(frames.at(-1)!));
  expect(new Set(recording.acknowledged.map((acknowledgement) => acknowledgement.dump)).size).toBe(
    frames.length,
  );
});

test("[P1] a power cut at or inside any log frame keeps every commit acknowledged before it, and no part of another", () => {
  const { file, log, acknowledged } = recording;
  for (let frame = 0; frame <= acknowledged.at(-1)!.frames; frame += 1) {
    const end = endOfFrame(frame);
    expect(recover(file, log.subarray(0, end)), `${frame} frames`).toBe(expectedDump(frame));
    for (const offset of insideFrame) {
      const found = recover(file, log.subarray(0, end + offset));
      expect(found, `${frame} frames and ${offset} bytes`).toBe(expectedDump(frame));
    }
  }
}, 120_000);

test("[P1] a tail that a power cut left garbled, zeroed or out of order is not taken for a commit", () => {
  const { file, log, acknowledged } = recording;
  const last = acknowledged.at(-1)!.frames;
  let seed = 1;
  const noise = Buffer.from(log.map(() => (seed = (seed * 48_271) % 2_147_483_647) & 0xff));
  for (let frame = 0; frame < last; frame += 1) {
    const end = endOfFrame(frame);
    const zeroed = Buffer.concat([log.subarray(0, end), Buffer.alloc(log.length - end)]);
    const garbled = Buffer.concat([log.subarray(0, end), noise.subarray(end)]);
    // Every later page reached the disk, this one did not.
    const hole = Buffer.concat([
      log.subarray(0, end + frameHeaderBytes),
      noise.subarray(end + frameHeaderBytes, end + frameHeaderBytes + 512),
      log.subarray(end + frameHeaderBytes + 512),
    ]);
    for (const tail of [zeroed, garbled, hole])
      expect(recover(file, tail), `${frame} frames`).toBe(expectedDump(frame));
  }
}, 120_000);

test("[P1] a power cut during a checkpoint loses nothing: the log still holds what the file half has", () => {
  const { file, log, checkpointed, acknowledged } = recording;
  const pages = checkpointed.length / pageSize;
  const grown = Buffer.concat([file, Buffer.alloc(checkpointed.length - file.length)]);
  for (let round = 0; round < 20; round += 1) {
    const torn = Buffer.from(grown);
    for (let page = 0; page < pages; page += 1) {
      const isWritten = (page * 7 + round * 13) % 20 < round;
      const [from, to] = [page * pageSize, (page + 1) * pageSize];
      if (isWritten) checkpointed.copy(torn, from, from, to);
    }
    expect(recover(torn, log), `round ${round}`).toBe(acknowledged.at(-1)!.dump);
  }
});

/**
 * This shows that the writing connection is set to sync the log at each COMMIT, and that this SQLite was built with
 * syncs. Whether the kernel and the disk then do so can't be seen from here.
 */
test("[P1] every commit of the store that isn't only a release or a renewal is one that SQLite syncs", async () => {
  const counts = new Int32Array(new SharedArrayBuffer(8));
  setEnvironmentData("holdfast.sync-probe", counts.buffer);
  const probeModule = new URL("./sync-probe.ts", import.meta.url).href;
  const store = await openSqliteStore({ file: join(folder, "synced.db"), probeModule });
  const chat = await openTestSession(store);
  for (let times = 0; times < 5; times += 1) await chat.commit([aNotice()]);
  await Promise.all([chat.commit([aNotice()]), chat.lease(), store.prune(1)]);
  await store.close();
  expect(counts[0]).toBe(7);
  expect(counts[1]).toBe(counts[0]);
  const options = new DatabaseSync(":memory:").prepare("PRAGMA compile_options").all();
  expect(options.map((row) => row["compile_options"])).not.toContain("NO_SYNC");
});
