import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { aNotice } from "@holdfast/testing/fixtures/factories";
import { openTestSession } from "@holdfast/testing/fixtures/open-session";
import { expect, onTestFinished, test } from "vitest";

import { connect } from "../connection.ts";
import { openSqliteStore } from "../store.ts";

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
  /** The pages of the log, and how many of them are checkpointed. */
  const readLog = () => {
    const row = observer.sql("PRAGMA wal_checkpoint(NOOP)").get();
    return { pages: Number(row?.["log"]), checkpointed: Number(row?.["checkpointed"]) };
  };
  // Creating the file doesn't count: the log starts over here.
  observer.sql("PRAGMA wal_checkpoint(TRUNCATE)").get();
  const chat = await openTestSession(store);
  // All at once, so that there is no pause between them.
  await Promise.all(
    Array.from({ length: 3 }, () => chat.commit([aNotice("x".repeat(100 * 1024))])),
  );
  const { pages } = readLog();
  expect(pages).toBeGreaterThan(200 / 5);
  expect(pages).toBeLessThan(200);
  await expect.poll(readLog).toEqual({ pages, checkpointed: pages });
});
